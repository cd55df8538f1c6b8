/* Parallel HDF5: interleaved slabs written together and one by one, contiguous and in chunks, and
 * read back in another pattern. Then the bytes of the file. */

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

enum { ROWS = 16, COLUMNS = 8 };

static double dataset(hid_t file, const char *name, int rank, int ranks, int chunked, H5FD_mpio_xfer_t how) {
    hsize_t shape[2] = {ROWS, COLUMNS * ranks}, chunk[2] = {4, 8}, mine[2] = {ROWS, COLUMNS};
    hsize_t first[2] = {0, rank}, stride[2] = {1, ranks}, one[2] = {1, 1};
    hid_t space = H5Screate_simple(2, shape, NULL), memory = H5Screate_simple(2, mine, NULL);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE), transfer = H5Pcreate(H5P_DATASET_XFER);
    double values[ROWS * COLUMNS], sum = 0;
    H5Pset_obj_track_times(create, 0); /* a file of the same bytes each time */
    if (chunked) H5Pset_chunk(create, 2, chunk);
    H5Pset_dxpl_mpio(transfer, how);
    hid_t set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, create, H5P_DEFAULT);
    for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = rank * 1000 + i;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, first, stride, mine, NULL);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, transfer, values);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    MPI_Barrier(MPI_COMM_WORLD);
    first[1] = (rank + 1) % ranks * COLUMNS;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, first, one, mine, NULL);
    H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, transfer, values);
    for (int i = 0; i < ROWS * COLUMNS; i++) sum += values[i] * (i % 7 + 1);
    H5Dclose(set), H5Pclose(transfer), H5Pclose(create), H5Sclose(memory), H5Sclose(space);
    return sum;
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate("slabs.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    double sum = dataset(file, "contiguous", rank, ranks, 0, H5FD_MPIO_COLLECTIVE);
    sum += dataset(file, "chunked", rank, ranks, 1, H5FD_MPIO_COLLECTIVE);
    sum += dataset(file, "independent", rank, ranks, 1, H5FD_MPIO_INDEPENDENT);
    H5Pclose(access), H5Fclose(file);
    double all;
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *bytes = fopen("slabs.h5", "rb");
        unsigned long digest = 5381, length = 0;
        for (int c; (c = fgetc(bytes)) != EOF; length++) digest = digest * 33 + c;
        printf("sum %.1f, file of %lu bytes, digest %lx\n", all, length, digest);
    }
    MPI_Finalize();
    return 0;
}
