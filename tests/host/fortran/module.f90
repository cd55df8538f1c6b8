! use mpi: derived types, attributes with callbacks in Fortran, a reduction of the program's own, a generalized request.
module callbacks
  use mpi
  implicit none
  integer :: copied = 0, deleted = 0, ended = 0
contains
  subroutine copy(comm, key, extra, value, out, flag, code)
    integer :: comm, key, code
    integer(kind=MPI_ADDRESS_KIND) :: extra, value, out
    logical :: flag
    copied = copied + 1
    out = value + 1
    flag = .true.
    code = MPI_SUCCESS
  end subroutine copy
  subroutine forget(comm, key, value, extra, code)
    integer :: comm, key, code
    integer(kind=MPI_ADDRESS_KIND) :: extra, value
    deleted = deleted + 1
    code = MPI_SUCCESS
  end subroutine forget
  subroutine largest(in, inout, length, kind_of)
    integer :: length, kind_of, i
    integer :: in(length), inout(length)
    do i = 1, length
      inout(i) = max(in(i), inout(i))
    end do
  end subroutine largest
  subroutine query(extra, status, code)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), code
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, code)
    call MPI_Status_set_cancelled(status, .false., code)
    status(MPI_SOURCE) = 7
    status(MPI_TAG) = 8
  end subroutine query
  subroutine finish(extra, code)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: code
    ended = ended + 1
    code = MPI_SUCCESS
  end subroutine finish
  subroutine cancelled(extra, done, code)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: done
    integer :: code
    code = MPI_SUCCESS
  end subroutine cancelled
end module callbacks

program modern
  use mpi
  use callbacks
  implicit none
  integer :: code, rank, size, key, twin, op, top, request, column, i, wrong, all, count
  integer :: status(MPI_STATUS_SIZE), field(4, 3)
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  logical :: found
  wrong = 0
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)

  extra = 5
  call MPI_Comm_create_keyval(copy, forget, key, extra, code)
  value = 41
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, code)
  call MPI_Comm_dup(MPI_COMM_WORLD, twin, code)
  call MPI_Comm_get_attr(twin, key, value, found, code)
  if (.not. found .or. value /= 42 .or. copied /= 1) wrong = wrong + 1
  call MPI_Comm_free(twin, code)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, code)
  if (deleted /= 2) wrong = wrong + 1
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, found, code)
  if (.not. found .or. value < 32767) wrong = wrong + 1

  call MPI_Op_create(largest, .true., op, code)
  call MPI_Allreduce(rank, top, 1, MPI_INTEGER, op, MPI_COMM_WORLD, code)
  if (top /= size - 1) wrong = wrong + 1
  call MPI_Op_free(op, code)

  call MPI_Type_vector(3, 1, 4, MPI_INTEGER, column, code)
  call MPI_Type_commit(column, code)
  field = rank
  call MPI_Sendrecv(field(1, 1), 1, column, mod(rank + 1, size), 0, field(2, 1), 1, column, &
      mod(rank + size - 1, size), 0, MPI_COMM_WORLD, status, code)
  do i = 1, 3
    if (field(2, i) /= mod(rank + size - 1, size) .or. field(3, i) /= rank) wrong = wrong + 1
  end do
  call MPI_Type_free(column, code)

  call MPI_Grequest_start(query, finish, cancelled, extra, request, code)
  call MPI_Grequest_complete(request, code)
  call MPI_Wait(request, status, code)
  call MPI_Get_count(status, MPI_INTEGER, count, code)
  if (count /= 3 .or. status(MPI_SOURCE) /= 7 .or. status(MPI_TAG) /= 8 .or. ended /= 1) wrong = wrong + 1

  call MPI_Reduce(wrong, all, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, code)
  if (rank == 0 .and. all == 0) print '(a)', 'all right'
  if (wrong /= 0) print *, 'rank', rank, 'found', wrong, 'faults'
  call MPI_Finalize(code)
end program modern
