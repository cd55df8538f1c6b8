// Directed checks of HostMemory: what a NIC reads and writes in the memory of another process, which here is this one.
#include "memory.h"

#include <cstdlib>

static uint8_t memory[2 * PAGE] __attribute__((aligned(PAGE)));
constexpr uint32_t REMOTE = 5, ALIAS = 6, READ_ONLY = 7, LOCAL = 8, MISSING = 9, GONE = 10;

struct Rig {
    HostMemory host;
    Rig() {
        memset(memory, 0, sizeof memory);
        uint64_t first = reinterpret_cast<uint64_t>(memory);
        host.pages.set(REMOTE, Page{nullptr, first, getpid(), true});
        host.pages.set(ALIAS, Page{nullptr, first, getpid(), true});
        host.pages.set(READ_ONLY, Page{nullptr, first, getpid(), false});
        host.pages.set(LOCAL, Page{memory, 0, 0, true});
        host.pages.set(GONE, Page{nullptr, first, 1 << 22, true});  // above every process id
    }
    uint32_t read(uint32_t page, uint32_t offset = 0, uint32_t words = 1) {
        uint32_t value = 0;
        if (!host.read(page * PAGE + offset, words, &value)) value = 0xDEADDEAD;
        return value;
    }
    bool write(uint32_t page, uint32_t value, uint32_t offset = 0) {
        uint32_t hit = 0;
        return host.write(page * PAGE + offset, value, 15, true, &hit);
    }
};

static void expect(const char* what, uint64_t found, uint64_t right) {
    if (found == right) return;
    printf("%s: %llu, not %llu\n", what, (unsigned long long)found, (unsigned long long)right);
    exit(1);
}

// A counter in a pinned page, as an atomic request changes it: each read must see the write before.
static void counts_up(uint32_t through) {
    Rig rig;
    for (uint32_t turn = 0; turn < 4; turn++) {
        expect("counter", rig.read(REMOTE), turn);
        expect("write", rig.write(through, turn + 1), true);
    }
}

// A burst that is left before its end gives no later read an old word.
static void abandoned_burst() {
    Rig rig;
    expect("first word", rig.read(REMOTE, 0, 4), 0);
    expect("write", rig.write(REMOTE, 77, 4), true);
    expect("second word", rig.read(REMOTE, 4, 1), 77);
}

// Another NIC's write reaches memory between two bursts of this one.
static void written_by_another() {
    Rig rig, other;
    expect("first burst", rig.read(REMOTE, 0, 1), 0);
    expect("write", other.write(REMOTE, 5), true);
    expect("second burst", rig.read(REMOTE, 0, 1), 5);
}

static void refusals() {
    Rig rig;
    expect("read of no page", rig.read(MISSING), 0xDEADDEAD);
    expect("refused after it", rig.host.refused, 1);
    expect("write to no page", rig.write(MISSING, 1), false);
    expect("refused after it", rig.host.refused, 2);
    expect("write to a read-only page", rig.write(READ_ONLY, 1), false);
    expect("refused after it", rig.host.refused, 3);
    expect("read of a process that is gone", rig.read(GONE), 0xDEADDEAD);
    expect("refused after it", rig.host.refused, 4);
    expect("write to a process that is gone", rig.write(GONE, 1), false);
    expect("refused after it", rig.host.refused, 5);
    expect("read of a read-only page", rig.read(READ_ONLY), 0);
    expect("refused after it", rig.host.refused, 5);
}

// Pages come and go, among others whose place is the same.
static void pages_by_number() {
    PageTable pages;
    auto has = [&](uint32_t number) { return pages.find(number) && pages.find(number)->remote == number; };
    for (uint32_t number = 1; number < 4000; number++) pages.set(number * 64, Page{nullptr, number * 64, 0, true});
    for (uint32_t number = 1; number < 4000; number += 3) pages.erase(number * 64);
    for (uint32_t number = 1; number < 4000; number++) expect("page", has(number * 64), number % 3 != 1);
    pages.erase(5);  // which is not there
    expect("page", has(128), true);
}

int main() {
    pages_by_number();
    counts_up(REMOTE);
    counts_up(ALIAS);
    counts_up(LOCAL);
    abandoned_burst();
    written_by_another();
    refusals();
}
