// Behind engine.cc: runs of four NICs and two switches by several threads. The results of all runs must be equal.
#include <cstdio>
#include <cstring>
#include <vector>

#include "stand_ins.h"

namespace {

constexpr uint32_t NICS = 4, SWITCHES = 2;
constexpr uint64_t LATENCY = 8, END = 4000;

// Each switch joins two NICs; one wire damages packets and loses its carrier for a while.
Engine* make(std::vector<std::vector<uint8_t>>& pages) {
    Engine* engine = engine_new(NICS, SWITCHES, LATENCY, 66000, &nic_table(), &switch_table(), nullptr);
    for (uint32_t nic = 0; nic < NICS; nic++) {
        engine_wire(engine, nic, 0, NICS + nic / 2, nic % 2);
        engine_wire(engine, NICS + nic / 2, nic % 2, nic, 0);
        pages.emplace_back(4096);
        engine_map(engine, nic, 0, pages.back().data(), 0, 0, 1);
        engine_watch(engine, nic, 64, 0, 7);
        std::vector<Pio> accesses;
        for (uint64_t slot = 50; slot < END; slot += 111)
            accesses.push_back({slot, uint32_t(slot % 2), 0x40, uint32_t(slot), 15, uint32_t(slot), 0});
        engine_pio(engine, nic, accesses.data(), uint32_t(accesses.size()));
    }
    Fault faults[] = {{3, 40, 0, FAULT_CORRUPT}, {5, 0, 0, FAULT_DROP}, {1500, 1700, 0, FAULT_DOWN}};
    engine_faults(engine, 0, faults, 3);
    return engine;
}

// Of all events, host memories and inputs of NICs. Half way `later` threads take over.
uint64_t run(bool skip, unsigned threads, unsigned later) {
    std::vector<std::vector<uint8_t>> pages;
    Engine* engine = make(pages);
    std::vector<uint64_t> digests(NICS, 1);
    for (uint64_t end : {END / 2, END}) {
        engine_options(engine, skip, threads);
        threads = later;
        for (uint64_t slot = 0; slot < end;) {
            engine_run(engine, end);
            Event* events;
            uint32_t count = engine_events(engine, &events);
            for (uint32_t i = 0; i < count; i++) {
                uint64_t& digest = digests[events[i].unit];
                digest =
                    mixed(digest, events[i].slot ^ uint64_t(events[i].kind) << 40 ^ uint64_t(events[i].value) << 20);
            }
            slot = end;
            for (uint32_t unit = 0; unit < NICS + SWITCHES; unit++) slot = smaller(slot, engine_slot(engine, unit));
        }
    }
    uint64_t digest = 1;
    for (uint32_t nic = 0; nic < NICS; nic++) {
        digest = mixed(mixed(digest, digests[nic]), engine_slot(engine, nic));
        for (uint8_t byte : pages[nic]) digest = mixed(digest, byte);
    }
    engine_delete(engine);
    return digest;
}

}  // namespace

int main() {
    uint64_t expected = run(false, 1, 1);
    printf("%016llx\n", (unsigned long long)expected);
    for (int skip = 0; skip < 2; skip++)
        for (unsigned threads : {2, 3}) {
            uint64_t digest = run(skip, threads, 5 - threads);
            if (digest == expected) continue;
            fprintf(stderr, "skip %d, %u threads at first: %016llx\n", skip, threads, (unsigned long long)digest);
            return 1;
        }
    return 0;
}
