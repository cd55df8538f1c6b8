"""Records of one rank's MPI calls for `lanai check`, which judges the records of all ranks.

A record is a line of JSON in the rank's own file, written before the call that it tells of goes on. It takes no
simulated time. `n` numbers the calls of a rank, `t` is the machine's clock in nanoseconds (that orders the ranks'
records), `k` the kind:

- `call`: an MPI call begins: `c` its name, `s` its place in the program.
- `end`: call `n` has returned.
- `send`, `recv`, `match`, `done`: a message is sent; a receive is posted; it has got its message; a request
  is complete.
- `coll`: a collective call with its arguments.
- `win`, `rma`, `sync`, `use`: a window is made; an operation on it; its synchronization; a buffer of
  another call lies in its memory.
- `touches`, `touch`: loads and stores are seen; one of them lies in a window's memory.
- `unsure`: from here on the messages of a communicator are not followed. `threads`: several threads call MPI.
- `found`: what the rank itself has found wrong: a finding.
- `error`, `leaves`: an MPI error; the exception by which the program ends.
- `leak`, `over`: an object that was not freed; MPI has ended.
"""
