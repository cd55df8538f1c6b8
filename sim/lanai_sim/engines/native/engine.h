// What the parts of the native engine share: wires with latency, events, units.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "declared.h"
#include "faults.h"
#include "state.h"

// One direction of a cable. What its sender puts in at slot s its receiver sees at s + latency; `stop` runs the other
// way.
struct Wire {
    uint64_t mask, latency;
    std::vector<uint8_t> kind, stop;
    std::vector<uint32_t> data;
    // One past the last slot that is not IDLE, or has STOP. Atomic, for the far end may look while this end puts in:
    // what it puts in arrives later than anything the far end decides then.
    std::atomic<uint64_t> last_kind{0}, last_stop{0};

    explicit Wire(uint64_t latency) : latency(latency) {
        uint64_t size = 8;
        while (size < 4 * latency + 8) size *= 2;
        mask = size - 1;
        kind.resize(size);
        stop.resize(size);
        data.resize(size);
    }
    std::unique_ptr<Faults> faults;  // usually none

    void put(uint64_t slot, uint8_t k, uint32_t d) {
        if (faults) faults->pass(slot, stop[(slot - latency) & mask], k, d);
        kind[slot & mask] = k;
        data[slot & mask] = d;
        if (k != IDLE) last_kind.store(slot + 1, std::memory_order_relaxed);
    }
    bool resting(uint64_t slot) const { return !faults || !faults->active(slot); }
    uint64_t next(uint64_t slot) const { return faults ? faults->next(slot) : ~0ull; }
    void put_stop(uint64_t slot, uint8_t s) {
        stop[slot & mask] = s;
        if (s) last_stop.store(slot + 1, std::memory_order_relaxed);
    }
    // Nothing stands on the far end in any slot from `slot` on, unless it is put in later.
    bool flits_quiet(uint64_t slot) const { return last_kind.load(std::memory_order_relaxed) + latency <= slot; }
    bool stops_quiet(uint64_t slot) const { return last_stop.load(std::memory_order_relaxed) + latency <= slot; }
    void rest(uint64_t from, uint64_t to) {  // the sender is still for these slots
        for (uint64_t s = from; s < to && s <= from + mask; s++) kind[s & mask] = IDLE;
    }
    void rest_stop(uint64_t from, uint64_t to) {
        for (uint64_t s = from; s < to && s <= from + mask; s++) stop[s & mask] = 0;
    }
    template <class Direction>
    void state(Direction& way) {
        pass(way, kind);
        pass(way, stop);
        pass(way, data);
        pass(way, last_kind);
        pass(way, last_stop);
    }
};

// A NIC or a switch: something with a clock of its own that may be stepped apart from the others.
struct Unit {
    uint64_t slot = 0;
    uint64_t evaluated = 0;  // slots
    std::vector<Event> events;

    virtual ~Unit() {}
    virtual void step() = 0;                           // one slot
    virtual bool quiet() const = 0;                    // nothing happens until an input comes
    virtual uint64_t wake() const { return ~0ull; }    // the slot at which it must be stepped though no input comes
    virtual bool rest(uint64_t to) = 0;                // leave slots out, up to `to` at most; false if it cannot
    virtual void pause() {}                            // Python is about to look
    virtual bool settled() const { return events.empty(); }  // its state is all that a unit like it needs to go on
    virtual void save(StateWriter& to) = 0;
    virtual void restore(StateReader& from) = 0;
};
