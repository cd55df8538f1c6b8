static int query(void *state, MPI_Status *filled) { return (void)state, (void)filled, MPI_SUCCESS; }
static int release(void *state) { return (void)state, MPI_SUCCESS; }
static int cancel(void *state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }

static void make_communicators(int own) {
    int one = 1, zero = 0;
    if (own) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else comm = MPI_COMM_WORLD;
    MPI_Comm_dup(comm, &spare_comm);
    MPI_Cart_create(comm, 1, &one, &one, 0, &cart);
    MPI_Graph_create(comm, 1, &one, &zero, 0, &graph);
    MPI_Dist_graph_create_adjacent(comm, 1, &zero, MPI_UNWEIGHTED, 1, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &dist);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(comm, &whole);
}

static void make_files(const char *mode) {
    char name[] = "/tmp/wrong_arguments_XXXXXX";
    MPI_File *all[3] = {&file, &spare_file, &freed_file};
    MPI_Errhandler of_file = MPI_ERRORS_RETURN, of_none = MPI_ERRORS_RETURN;
    close(mkstemp(name));
    for (int i = 0; i < 3; i++) MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, all[i]);
    unlink(name);
    MPI_File_close(&(MPI_File){freed_file});
    if (!strcmp(mode, "abort")) of_file = of_none = MPI_ERRORS_ABORT;
    if (!strcmp(mode, "user")) {
        MPI_File_create_errhandler((MPI_File_errhandler_function *)on_file, &of_file);
        MPI_File_create_errhandler((MPI_File_errhandler_function *)on_no_file, &of_none);
    }
    MPI_File_set_errhandler(file, of_file);
    MPI_File_set_errhandler(spare_file, of_file);
    MPI_File_set_errhandler(MPI_FILE_NULL, of_none);
}

/* Windows in the epochs that calls need: `win` after a fence, `locked_win` with rank 0 locked, `idle_win` in none. */
static void make_windows(MPI_Errhandler handler) {
    MPI_Win *all[5] = {&win, &locked_win, &idle_win, &spare_win, &dynamic_win};
    for (int i = 0; i < 4; i++) MPI_Win_create(exposed, sizeof exposed, 4, MPI_INFO_NULL, comm, all[i]);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &dynamic_win);
    for (int i = 0; i < 5; i++) MPI_Win_set_errhandler(*all[i], handler);
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, locked_win);
    MPI_Win_create(0, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &freed_win);
    MPI_Win_free(&(MPI_Win){freed_win});
}

static void make_requests(void) {
    MPI_Irecv(got, 1, MPI_INT, 0, 77, comm, &pending);
    MPI_Irecv(got, 1, MPI_INT, 0, 82, comm, &requests[0]);
    MPI_Recv_init(got, 1, MPI_INT, 0, 78, comm, &persistent);
    MPI_Recv_init(got, 1, MPI_INT, 0, 79, comm, &persistents[0]);
    MPI_Isend(sent, 1, MPI_INT, 0, 80, comm, &hold_request);
    MPI_Request_free(&hold_request);
    MPI_Mprobe(0, 80, comm, &message, MPI_STATUS_IGNORE);
    MPI_Psend_init(sent, 2, 1, MPI_INT, 0, 81, comm, MPI_INFO_NULL, &psend);
    MPI_Precv_init(got, 2, 1, MPI_INT, 0, 81, comm, MPI_INFO_NULL, &precv);
    MPI_Start(&psend);
    MPI_Start(&precv);
    MPI_Grequest_start(query, release, cancel, 0, &grequest);
    MPI_Recv(got, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &status);
}

/* `mode` is return, abort or user; `own` says whether calls go to a communicator with an error handler of its own. */
static void set_handlers(const char *mode, int own) {
    MPI_Errhandler world = MPI_ERRORS_RETURN, self = MPI_ERRORS_RETURN, mine = MPI_ERRORS_RETURN;
    MPI_Comm all[5] = {comm, cart, graph, dist, spare_comm};
    if (!strcmp(mode, "abort")) world = self = mine = MPI_ERRORS_ABORT;
    if (!strcmp(mode, "user")) {
        MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)on_world, &world);
        MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)on_self, &self);
        MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)on_own, &mine);
    }
    for (int i = 0; i < 5; i++) MPI_Comm_set_errhandler(all[i], own ? mine : world);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, self);
}

/* One line a case: its number, the class of the answer, the handlers called, the text. */
static void run(int number) {
    char told[MPI_MAX_ERROR_STRING] = "";
    int length, class = MPI_SUCCESS;
    *called = 0;
    last_code = MPI_SUCCESS;
    int code = cases[number]();
    if (*called) code = last_code; /* some libraries return success once a handler has been called */
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        MPI_Error_string(code, told, &length);
    }
    for (char *at = told; *at; at++) *at = *at == '\n' ? ' ' : *at;
    printf("%d|%s|%s|%s\n", number, name_of(class), called, told);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int total = sizeof cases / sizeof *cases, own = argc > 2 && atoi(argv[2]), alone = !strcmp(argv[1], "abort");
    int step = argc > 3 ? atoi(argv[3]) : 1, how;
    MPI_Errhandler of_session = MPI_ERRORS_RETURN, of_windows = MPI_ERRORS_RETURN;
    MPI_Init(&argc, &argv);
    if (!strcmp(argv[1], "abort")) of_session = of_windows = MPI_ERRORS_ABORT;
    if (!strcmp(argv[1], "user"))
        MPI_Session_create_errhandler((MPI_Session_errhandler_function *)on_session, &of_session);
    if (!strcmp(argv[1], "user")) MPI_Win_create_errhandler((MPI_Win_errhandler_function *)on_window, &of_windows);
    make_communicators(own);
    make_objects(of_session);
    make_requests();
    make_freed();
    make_windows(of_windows);
    set_handlers(argv[1], own);
    make_files(argv[1]);
    volatile int *next = mmap(0, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (*next < total) { /* a child works until it dies of a case; the next one goes on behind that */
        pid_t child = fork();
        if (!child) {
            while (*next < total) {
                int number = *next;
                *next += step;
                alarm(20);
                run(number);
                if (alone) break;
            }
            _exit(0);
        }
        waitpid(child, &how, 0);
        if (WIFSIGNALED(how)) printf("%d|signal %d||\n", *next - step, WTERMSIG(how));
        else if (WEXITSTATUS(how)) printf("%d|exit %d||\n", *next - step, WEXITSTATUS(how));
        fflush(stdout);
    }
    fflush(stdout);
    _exit(0); /* what the objects above are left for is no test of MPI_Finalize */
}
