"""The benches of the labs, by name. `load(folder)` returns the student's work, `run(work, values)` the cycles of a
case; both raise `Wrong`, or what the work raises. `ENDLESS`, if there is one, is a reason why a case may never end."""
