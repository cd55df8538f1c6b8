/* Cartesian grids and graphs. */
#include "check.h"

static int rank, size;

static void grids(void) {
    MPI_Comm grid, row;
    int dims[2] = {0, 1}, periods[2] = {1, 0}, kind, n, coords[2], got[2], wrap[2], at[2], below, above, where;
    OK(MPI_Dims_create(size, 2, dims));
    CHECK(dims[0] == size && dims[1] == 1);
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
    OK(MPI_Topo_test(grid, &kind));
    CHECK(kind == MPI_CART);
    OK(MPI_Cartdim_get(grid, &n));
    CHECK(n == 2);
    OK(MPI_Cart_get(grid, 2, got, wrap, at));
    CHECK(got[0] == size && wrap[0] && !wrap[1] && at[0] == rank);
    OK(MPI_Cart_coords(grid, rank, 2, coords));
    CHECK(coords[0] == rank && coords[1] == 0);
    coords[0] += size; /* round once */
    OK(MPI_Cart_rank(grid, coords, &where));
    CHECK(where == rank);
    OK(MPI_Cart_shift(grid, 0, 1, &below, &above));
    CHECK(below == (rank + size - 1) % size && above == (rank + 1) % size);
    OK(MPI_Cart_shift(grid, 1, 1, &below, &above));
    CHECK(below == MPI_PROC_NULL && above == MPI_PROC_NULL);
    OK(MPI_Cart_sub(grid, (int[]){0, 1}, &row));
    OK(MPI_Comm_size(row, &n));
    CHECK(n == 1);
    OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &n));
    CHECK(n == rank);
    OK(MPI_Comm_free(&row));
    OK(MPI_Comm_free(&grid));
}

static void graphs(void) {
    /* A star: 0 in the middle. */
    MPI_Comm star;
    int index[16], edges[32], kind, nodes, arcs, got[16], ends[32], n, next[16];
    for (int i = 0; i < size; i++) index[i] = size - 1 + i, edges[i] = i + 1;
    for (int i = 1; i < size; i++) edges[size - 2 + i] = 0;
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &star));
    OK(MPI_Topo_test(star, &kind));
    CHECK(kind == MPI_GRAPH);
    OK(MPI_Graphdims_get(star, &nodes, &arcs));
    CHECK(nodes == size && arcs == 2 * (size - 1));
    OK(MPI_Graph_get(star, nodes, arcs, got, ends));
    CHECK(!memcmp(got, index, nodes * sizeof *got) && !memcmp(ends, edges, arcs * sizeof *ends));
    OK(MPI_Graph_neighbors_count(star, rank, &n));
    CHECK(n == (rank ? 1 : size - 1));
    OK(MPI_Graph_neighbors(star, rank, n, next));
    if (n) CHECK(next[0] == (rank ? 0 : 1));
    OK(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &n));
    CHECK(n == rank);
    OK(MPI_Comm_free(&star));
}

int main(int argc, char **argv) {
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    grids();
    graphs();
    return finish();
}
