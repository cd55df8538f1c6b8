// Memory that holds zeros, given back to the system until something else is written there.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <stdint.h>
#include <stdlib.h>

// Zeros from the system, which take no memory yet. calloc may take memory that was used, and write all the zeros.
inline void* zeros(size_t size) {
    void* found = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) abort();
    return found;
}

// Content stays the same. The memory is private and anonymous.
inline void give_back_zeros(void* memory, size_t size) {
    const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), begin = uintptr_t(memory);
    const uintptr_t end = (begin + size) & ~(page - 1);
    auto is_zero = [page](uintptr_t at) {
        const char* bytes = reinterpret_cast<const char*>(at);
        return !bytes[0] && !memcmp(bytes, bytes + 1, page - 1);
    };
    for (uintptr_t at = (begin + page - 1) & ~(page - 1); at < end; at += page) {
        uintptr_t from = at;
        while (at < end && is_zero(at)) at += page;
        if (at > from) madvise(reinterpret_cast<void*>(from), at - from, MADV_DONTNEED);
    }
}
