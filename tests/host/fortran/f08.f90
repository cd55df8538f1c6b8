! mpi_f08: typed handles, statuses as derived types, non-blocking calls, a reduction in place.
program f08
  use mpi_f08
  implicit none
  integer :: rank, size, total, got, next
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  logical :: flag
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  total = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request)
  call MPI_Send(rank, 1, MPI_INTEGER, next, 4, MPI_COMM_WORLD)
  call MPI_Wait(request, status)
  flag = got == status%MPI_SOURCE .and. status%MPI_TAG == 4 .and. total == size * (size + 1) / 2
  call MPI_Allreduce(MPI_IN_PLACE, flag, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
  if (rank == 0 .and. flag) print '(a)', 'all right'
  call MPI_Finalize()
end program f08
