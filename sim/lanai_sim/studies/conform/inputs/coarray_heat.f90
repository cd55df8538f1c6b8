! Heat on a line: each image holds a part and takes its neighbours' ends.
program heat
  implicit none
  integer, parameter :: n = 16, steps = 50
  real(8) :: u(0:n + 1)[*], new(n), total
  integer :: counter[*], me, images, step, i
  me = this_image()
  images = num_images()
  u = 0
  counter = 0
  if (me == 1) u(0) = 1
  sync all
  do step = 1, steps
    if (me > 1) u(0) = u(n)[me - 1]
    if (me < images) u(n + 1) = u(1)[me + 1]
    sync all
    do i = 1, n
      new(i) = u(i) + 0.25d0 * (u(i - 1) - 2 * u(i) + u(i + 1))
    end do
    u(1:n) = new
    sync all
  end do
  critical
    counter[1] = counter[1] + me
  end critical
  sync all
  total = sum(u(1:n))
  call co_sum(total)
  if (me == 1) print '(a, i0, a, i0, a, f0.12)', 'images ', images, ' counted ', counter, ' heat ', total
end program
