/* Groups, communicators of both kinds, attributes. */
#include "check.h"

static int rank, size, copies, deletions;

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag) {
    copies += *(int *)extra;
    *(void **)copied = (char *)value + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra) {
    deletions += *(int *)extra;
    return MPI_SUCCESS;
}

static void groups(void) {
    MPI_Group world, first, rest, made;
    int result, n, translated, ranks[1] = {0}, ranges[1][3] = {{0, 0, 1}};
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(world, &n));
    CHECK(n == size);
    OK(MPI_Group_rank(world, &n));
    CHECK(n == rank);
    OK(MPI_Group_incl(world, 1, ranks, &first));
    OK(MPI_Group_excl(world, 1, ranks, &rest));
    OK(MPI_Group_translate_ranks(first, 1, ranks, rest, &translated));
    CHECK(translated == MPI_UNDEFINED);
    OK(MPI_Group_union(first, rest, &made));
    OK(MPI_Group_compare(made, world, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&made));
    OK(MPI_Group_intersection(first, rest, &made));
    CHECK(made == MPI_GROUP_EMPTY);
    OK(MPI_Group_difference(world, rest, &made));
    OK(MPI_Group_compare(made, first, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&made));
    OK(MPI_Group_range_incl(world, 1, ranges, &made));
    OK(MPI_Group_compare(made, first, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&made));
    OK(MPI_Group_range_excl(world, 1, ranges, &made));
    OK(MPI_Group_compare(made, rest, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&made));
    OK(MPI_Group_free(&first));
    OK(MPI_Group_free(&rest));
    OK(MPI_Group_free(&world));
}

static void communicators(void) {
    MPI_Comm twin, half, made;
    MPI_Group group;
    int result, n;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    OK(MPI_Comm_compare(twin, MPI_COMM_WORLD, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Comm_split(twin, rank % 2, -rank, &half));
    OK(MPI_Comm_size(half, &n));
    CHECK(n == (size + 1 - rank % 2) / 2);
    OK(MPI_Comm_group(half, &group));
    OK(MPI_Comm_create(MPI_COMM_WORLD, group, &made));
    OK(MPI_Comm_compare(made, half, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_free(&made));
    CHECK(made == MPI_COMM_NULL);
    if (size > 1) {
        MPI_Comm bridge, merged;
        int flag;
        /* Leaders are ranks 1 and 0 of the world; inside the halves they come last. */
        int half_size = n;
        OK(MPI_Intercomm_create(half, half_size - 1, twin, 1 - rank % 2, 7, &bridge));
        OK(MPI_Comm_test_inter(bridge, &flag));
        CHECK(flag);
        OK(MPI_Comm_remote_size(bridge, &n));
        CHECK(n == size - half_size);
        OK(MPI_Comm_remote_group(bridge, &group));
        OK(MPI_Group_size(group, &n));
        CHECK(n == size - half_size);
        OK(MPI_Group_free(&group));
        OK(MPI_Intercomm_merge(bridge, rank % 2, &merged));
        OK(MPI_Comm_size(merged, &n));
        CHECK(n == size);
        OK(MPI_Comm_rank(merged, &n));
        CHECK((n >= (size + 1) / 2) == rank % 2);
        OK(MPI_Comm_free(&merged));
        OK(MPI_Comm_free(&bridge));
    }
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_free(&twin));
}

/* A keyval that was freed works for the attributes that still have it, and for their copies. */
static void freed_keyval(void) {
    MPI_Comm comm, twin;
    int key, kept, found, kind, extra = 1;
    void *value;
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, &extra));
    kept = key;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_attr(comm, key, &extra));
    OK(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Comm_get_attr(comm, kept, &value, &found));
    CHECK(found && value == &extra);
    OK(MPI_Comm_dup(comm, &twin));
    OK(MPI_Comm_delete_attr(comm, kept));
    OK(MPI_Comm_get_attr(twin, kept, &value, &found));
    CHECK(found && value == &extra);
    OK(MPI_Comm_set_attr(twin, kept, &kind));
    OK(MPI_Comm_get_attr(twin, kept, &value, &found));
    CHECK(found && value == &kind);
    OK(MPI_Comm_free(&twin));
    OK(MPI_Error_class(MPI_Comm_get_attr(comm, kept, &value, &found), &kind));
    CHECK(kind == MPI_ERR_KEYVAL);
    OK(MPI_Comm_free(&comm));
}

static void attributes(void) {
    int key, flag, extra = 1, *top;
    void *value;
    MPI_Comm twin;
    OK(MPI_Keyval_create(copy, delete, &key, &extra));
    OK(MPI_Attr_put(MPI_COMM_WORLD, key, (void *)100));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    OK(MPI_Attr_get(twin, key, &value, &flag));
    CHECK(flag && value == (void *)101 && copies == 1);
    OK(MPI_Attr_delete(twin, key));
    OK(MPI_Attr_get(twin, key, &value, &flag));
    CHECK(!flag && deletions == 1);
    OK(MPI_Comm_free(&twin));
    OK(MPI_Attr_delete(MPI_COMM_WORLD, key));
    CHECK(deletions == 2);
    OK(MPI_Keyval_free(&key));
    freed_keyval();
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &top, &flag));
    CHECK(flag && *top >= 32767);
}

int main(int argc, char **argv) {
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    groups();
    communicators();
    attributes();
    return finish();
}
