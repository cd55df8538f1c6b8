/* One-sided communication: every kind of window and epoch, attributes, names, hints and error handlers. */
#include "check.h"

enum { N = 1500 }; /* ints: more than travels with one request */

static int rank, size, next, before, handled, deleted;

static void note(MPI_Win *win, int *code, ...) { (void)win, MPI_Error_class(*code, &handled); }
static int drop(MPI_Win win, int key, void *value, void *extra) {
    (void)win, (void)key, (void)extra, deleted += *(int *)value;
    return MPI_SUCCESS;
}

static int refused(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void fences(void) {
    static int memory[N], mine[N], got[N];
    MPI_Win win;
    for (int i = 0; i < N; i++) mine[i] = 1000 * rank + i, memory[i] = -1;
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    OK(MPI_Put(mine, N, MPI_INT, next, 0, N, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memory[0] == 1000 * before && memory[N - 1] == 1000 * before + N - 1);
    OK(MPI_Get_c(got, N, MPI_INT, next, 0, N, MPI_INT, win));
    OK(MPI_Accumulate(mine, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK(got[7] == mine[7]);
    OK(MPI_Put_c(mine, 1, MPI_INT, rank, 3, 1, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win));
    OK(MPI_Accumulate_c(mine, N, MPI_INT, 0, 0, N, MPI_INT, MPI_MAX, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (!rank) CHECK(memory[0] == 1000 * (size - 1));
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
}

static void groups(void) {
    int memory[2] = {-1, -1}, mine = rank, flag = 0;
    MPI_Win win;
    MPI_Group all, to, from;
    OK(MPI_Win_create_c(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &next, &to));
    OK(MPI_Group_incl(all, 1, &before, &from));
    OK(MPI_Win_post(from, 0, win));
    OK(MPI_Win_start(to, 0, win));
    OK(MPI_Put(&mine, 1, MPI_INT, next, 1, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK(memory[0] == -1 && memory[1] == before);
    OK(MPI_Win_post(from, MPI_MODE_NOSTORE, win));
    OK(MPI_Win_start(to, 0, win));
    OK(MPI_Win_complete(win));
    while (!flag) OK(MPI_Win_test(win, &flag));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    OK(MPI_Win_free(&win));
}

static void locks(void) {
    long *memory, one = 1, got = -1, other = 0, swapped = -1, wanted, two[2] = {5, 6}, old[2];
    MPI_Win win;
    MPI_Request requests[2];
    OK(MPI_Win_allocate(4 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    memory[0] = memory[1] = memory[2] = memory[3] = 0;
    OK(MPI_Win_sync(win));
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, win));
    OK(MPI_Win_flush(0, win));
    CHECK(got >= 0 && got < size);
    wanted = got;
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Compare_and_swap(&one, &other, &swapped, MPI_LONG, 0, 1, win));
    OK(MPI_Win_flush_local(0, win));
    CHECK(swapped == 0 || swapped == 1);
    OK(MPI_Rput(two, 2, MPI_LONG, next, 2, 2, MPI_LONG, win, &requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Win_flush_all(win));
    OK(MPI_Rget(old, 2, MPI_LONG, next, 2, 2, MPI_LONG, win, &requests[0]));
    OK(MPI_Rget_accumulate(0, 0, MPI_DATATYPE_NULL, &got, 1, MPI_LONG, next, 2, 1, MPI_LONG, MPI_NO_OP, win,
                           &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(old[0] == 5 && old[1] == 6 && got == 5);
    OK(MPI_Raccumulate_c(two, 1, MPI_LONG, next, 3, 1, MPI_LONG, MPI_REPLACE, win, &requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Win_flush_local_all(win));
    OK(MPI_Get_accumulate(two, 1, MPI_LONG, old, 1, MPI_LONG, next, 3, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
    CHECK(old[0] == 5);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(memory[3] == 10);
    if (!rank) CHECK(memory[0] == size && memory[1] == 1);
    OK(MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(wanted == (long)size * (size - 1) / 2);
    OK(MPI_Win_free(&win));
}

static void dynamic(void) {
    int memory[4] = {0, 0, 0, 0}, mine = rank + 1;
    MPI_Aint address, addresses[64], *base, *length;
    MPI_Win win;
    int flag, *flavor, code;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == MPI_BOTTOM);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &length, &flag));
    CHECK(flag && *length == 0);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_DYNAMIC);
    OK(MPI_Win_attach(win, memory, sizeof memory));
    OK(MPI_Get_address(memory, &address));
    OK(MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&mine, 1, MPI_INT, next, MPI_Aint_add(addresses[next], 2 * sizeof(int)), 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memory[2] == before + 1);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    /* Only the target knows what is attached: the call that completes the operation fails. */
    code = MPI_Put(&mine, 1, MPI_INT, next, addresses[next] + 64, 1, MPI_INT, win);
    if (next == rank) CHECK(refused(code) == MPI_ERR_RMA_RANGE);
    else OK(code);
    code = MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (next != rank) CHECK(refused(code) == MPI_ERR_RMA_RANGE);
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Win_free(&win));
}

static void shared(void) {
    MPI_Comm node;
    MPI_Win win;
    MPI_Aint length;
    int *mine, *theirs, unit, there, many;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_rank(node, &there));
    OK(MPI_Comm_size(node, &many));
    OK(MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win));
    mine[0] = 10 + there;
    OK(MPI_Barrier(node));
    OK(MPI_Win_shared_query(win, (there + 1) % many, &length, &unit, &theirs));
    CHECK(length == 2 * sizeof(int) && unit == sizeof(int) && theirs[0] == 10 + (there + 1) % many);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&node));
}

static void objects(void) {
    int memory[4], key, value = 7, flag, length, *unit, *model, *flavor;
    char name[MPI_MAX_OBJECT_NAME], hint[MPI_MAX_INFO_VAL];
    void *base, *found;
    MPI_Aint *bytes;
    MPI_Win win;
    MPI_Info info;
    MPI_Errhandler handler, got;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "no_locks", "true"));
    OK(MPI_Win_create(memory, sizeof memory, 4, info, MPI_COMM_WORLD, &win));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, "no_locks", sizeof hint - 1, hint, &flag));
    CHECK(flag && !strcmp(hint, "true"));
    OK(MPI_Win_set_info(win, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_set_name(win, "table"));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK(!strcmp(name, "table") && length == 5);
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == memory);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag));
    CHECK(flag && *bytes == sizeof memory);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == 4);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, drop, &key, 0));
    OK(MPI_Win_set_attr(win, key, &value));
    OK(MPI_Win_get_attr(win, key, &found, &flag));
    CHECK(flag && found == &value);
    OK(MPI_Win_delete_attr(win, key));
    OK(MPI_Win_set_attr(win, key, &value));
    OK(MPI_Win_free_keyval(&key));
    OK(MPI_Win_create_errhandler(note, &handler));
    OK(MPI_Win_set_errhandler(win, handler));
    OK(MPI_Win_get_errhandler(win, &got));
    OK(MPI_Errhandler_free(&got));
    CHECK(refused(MPI_Win_complete(win)) == MPI_ERR_RMA_SYNC && handled == MPI_ERR_RMA_SYNC);
    CHECK(refused(MPI_Win_lock(99, 0, 0, win)) == MPI_ERR_LOCKTYPE && handled == MPI_ERR_LOCKTYPE);
    OK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
    CHECK(handled == MPI_ERR_OTHER);
    OK(MPI_Errhandler_free(&handler));
    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
    CHECK(deleted == 7);
    OK(MPI_Win_free(&win));
    CHECK(deleted == 14);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    fences();
    groups();
    locks();
    dynamic();
    shared();
    objects();
    return finish();
}
