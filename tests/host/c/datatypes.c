/* Derived datatypes with MPI-1's constructors, and packing. */
#include "check.h"

static int rank, peer;

/* Send `kind` to the neighbour as it lies, receive it as plain ints: what was picked? */
static void picks(MPI_Datatype kind, int count, const int *expected) {
    int field[64], got[64], elements, size;
    MPI_Status status;
    for (int i = 0; i < 64; i++) field[i] = i, got[i] = -1;
    OK(MPI_Type_commit(&kind));
    OK(MPI_Type_size(kind, &size));
    CHECK(size == count * (int)sizeof(int));
    OK(MPI_Sendrecv(field, 1, kind, peer, 0, got, 64, MPI_INT, peer, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Get_elements(&status, MPI_INT, &elements));
    CHECK(elements == count);
    for (int i = 0; i < count; i++) CHECK(got[i] == expected[i]);
    OK(MPI_Type_free(&kind));
    CHECK(kind == MPI_DATATYPE_NULL);
}

static void constructors(void) {
    MPI_Datatype kind, kinds[2] = {MPI_INT, MPI_DOUBLE};
    int lengths[3] = {2, 0, 3}, places[3] = {4, 9, 0};
    MPI_Aint bytes[3] = {16, 4, 0}, extent, lb, ub, offsets[2] = {0, 8}, here, there;
    struct { int i; double d; } pair[2];

    OK(MPI_Type_contiguous(3, MPI_INT, &kind));
    picks(kind, 3, (int[]){0, 1, 2});
    OK(MPI_Type_vector(3, 2, 5, MPI_INT, &kind));
    OK(MPI_Type_extent(kind, &extent));
    CHECK(extent == 12 * sizeof(int));
    picks(kind, 6, (int[]){0, 1, 5, 6, 10, 11});
    OK(MPI_Type_hvector(3, 1, 12, MPI_INT, &kind));
    picks(kind, 3, (int[]){0, 3, 6});
    OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &kind));
    OK(MPI_Type_lb(kind, &lb));
    OK(MPI_Type_ub(kind, &ub));
    CHECK(lb == 0 && ub == 24);
    picks(kind, 5, (int[]){4, 5, 0, 1, 2});
    OK(MPI_Type_hindexed(3, lengths, bytes, MPI_INT, &kind));
    picks(kind, 5, (int[]){4, 5, 0, 1, 2});

    OK(MPI_Address(&pair[0], &here));
    OK(MPI_Address(&pair[0].d, &there));
    offsets[1] = there - here;
    OK(MPI_Type_struct(2, (int[]){1, 1}, offsets, kinds, &kind));
    OK(MPI_Type_extent(kind, &extent));
    CHECK(extent == sizeof pair[0]);
    OK(MPI_Type_commit(&kind));
    pair[0].i = rank, pair[0].d = 0.5 + rank;
    OK(MPI_Sendrecv(pair, 1, kind, peer, 1, pair + 1, 1, kind, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(pair[1].i == peer && pair[1].d == 0.5 + peer);
    OK(MPI_Type_free(&kind));
}

static void packing(void) {
    char room[256];
    int position = 0, numbers[4] = {1, 2, 3, 4}, size, more;
    double real = 2.5;
    OK(MPI_Pack_size(4, MPI_INT, MPI_COMM_WORLD, &size));
    OK(MPI_Pack_size(1, MPI_DOUBLE, MPI_COMM_WORLD, &more));
    CHECK(size + more <= (int)sizeof room);
    OK(MPI_Pack(numbers, 4, MPI_INT, room, sizeof room, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(&real, 1, MPI_DOUBLE, room, sizeof room, &position, MPI_COMM_WORLD));
    OK(MPI_Sendrecv_replace(room, position, MPI_PACKED, peer, 2, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    memset(numbers, 0, sizeof numbers), real = 0, size = position, position = 0;
    OK(MPI_Unpack(room, size, &position, numbers, 4, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack(room, size, &position, &real, 1, MPI_DOUBLE, MPI_COMM_WORLD));
    CHECK(numbers[0] == 1 && numbers[3] == 4 && real == 2.5 && position == size);
}

static int refuse_copy(MPI_Datatype old, int key, void *extra, void *value, void *copy, int *flag) {
    (void)old, (void)key, (void)extra, (void)value, (void)copy, (void)flag;
    return MPI_ERR_OTHER;
}
static int refuse_delete(MPI_Datatype old, int key, void *value, void *extra) {
    (void)old, (void)key, (void)value;
    return *(int *)extra ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* A duplicate whose attributes could not be copied is MPI_DATATYPE_NULL. A datatype whose attributes could not be
   deleted stays, and can be freed later. */
static void refused_attributes(void) {
    int key, refused = 1, size;
    MPI_Datatype kind, same, copy = MPI_INT;
    OK(MPI_Type_create_keyval(refuse_copy, refuse_delete, &key, &refused));
    OK(MPI_Type_contiguous(2, MPI_INT, &kind));
    OK(MPI_Type_set_attr(kind, key, NULL));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Type_dup(kind, &copy) != MPI_SUCCESS);
    CHECK(copy == MPI_DATATYPE_NULL);
    same = kind;
    CHECK(MPI_Type_free(&kind) != MPI_SUCCESS);
    CHECK(kind == same);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    OK(MPI_Type_size(kind, &size));
    refused = 0;
    OK(MPI_Type_free(&kind));
    CHECK(kind == MPI_DATATYPE_NULL);
    OK(MPI_Type_free_keyval(&key));
}

int main(int argc, char **argv) {
    int size;
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    peer = rank ^ 1;
    if (peer >= size) peer = rank;
    constructors();
    packing();
    refused_attributes();
    return finish();
}
