/* Waits for files without a time limit: in real time, but what the rank has sent leaves before. */

DECLARE_REAL(accept);
DECLARE_REAL(accept4);
DECLARE_REAL(recv);
DECLARE_REAL(recvfrom);
DECLARE_REAL(recvmsg);
DECLARE_REAL(read);

int accept(int file, struct sockaddr *restrict address, socklen_t *restrict size) {
    leave();
    return REAL(accept)(file, address, size);
}

int accept4(int file, struct sockaddr *restrict address, socklen_t *restrict size, int flags) {
    leave();
    return REAL(accept4)(file, address, size, flags);
}

ssize_t recv(int file, void *to, size_t size, int flags) {
    if (!(flags & MSG_DONTWAIT)) leave();
    return REAL(recv)(file, to, size, flags);
}

ssize_t recvfrom(int file, void *restrict to, size_t size, int flags, struct sockaddr *restrict address,
                 socklen_t *restrict address_size) {
    if (!(flags & MSG_DONTWAIT)) leave();
    return REAL(recvfrom)(file, to, size, flags, address, address_size);
}

ssize_t recvmsg(int file, struct msghdr *message, int flags) {
    if (!(flags & MSG_DONTWAIT)) leave();
    return REAL(recvmsg)(file, message, flags);
}

ssize_t read(int file, void *to, size_t size) {
    struct stat status;
    if (simulated() && !fstat(file, &status) && (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode))) leave();
    return REAL(read)(file, to, size);
}
