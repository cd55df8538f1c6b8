// What the parts of the native engine share: wires with latency, events, units.
#pragma once
#include <stdint.h>

#include "declared.h"
#include "faults.h"
#include "library.h"
#include "state.h"

// A model's code for one slot is larger than the first caches, so that whatever a slot needs beside it is fetched anew.
// What few slots need is kept out of the code and the cache lines that every slot needs.
#define RARELY(condition) __builtin_expect(!!(condition), 0)
#define RARE __attribute__((noinline, cold))

// One direction of a cable. What its sender puts in at slot s its receiver sees at s + latency; `stop` runs the other
// way.
struct alignas(64) Wire : OnHeap {
    uint64_t mask, latency;
    // One past the last slot that is not IDLE, or has STOP. Atomic, for the far end may look while this end puts in:
    // what it puts in arrives later than anything the far end decides then.
    Shared<uint64_t> last_kind{0}, last_stop{0};
    Owned<Faults> faults;  // usually none
    List<uint8_t> kind, stop;
    List<uint32_t> data;  // undefined where `kind` is IDLE

    explicit Wire(uint64_t latency) : latency(latency) {
        uint64_t size = 8;
        while (size < 4 * latency + 8) size *= 2;
        mask = size - 1;
        kind.resize(size);
        stop.resize(size);
        data.resize(size);
    }

    void put(uint64_t slot, uint8_t k, uint32_t d) {
        if (RARELY(k != IDLE || !leaves_idle(slot))) store(slot, k, d);
    }
    // Nothing is to be written for an idle slot, now and until something is put in.
    bool leaves_idle(uint64_t slot) const { return !faults && all_idle(slot); }
    bool resting(uint64_t slot) const { return !faults || !faults->active(slot); }
    uint64_t next(uint64_t slot) const { return faults ? faults->next(slot) : ~0ull; }
    void put_stop(uint64_t slot, uint8_t s) {
        if (RARELY(s || !leaves_stops(slot))) store_stop(slot, s);
    }
    // As `leaves_idle`, for a slot without STOP.
    bool leaves_stops(uint64_t slot) const { return slot > last_stop.load(__ATOMIC_RELAXED) + mask; }
    // Nothing stands on the far end in any slot from `slot` on, unless it is put in later.
    bool flits_quiet(uint64_t slot) const { return last_kind.load(__ATOMIC_RELAXED) + latency <= slot; }
    bool stops_quiet(uint64_t slot) const { return last_stop.load(__ATOMIC_RELAXED) + latency <= slot; }
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

  private:
    // Every entry was overwritten since the last that was not IDLE, or had STOP.
    bool all_idle(uint64_t slot) const { return slot > last_kind.load(__ATOMIC_RELAXED) + mask; }

    RARE void store(uint64_t slot, uint8_t k, uint32_t d) {
        if (faults) faults->pass(slot, stop[(slot - latency) & mask], k, d);
        kind[slot & mask] = k;
        data[slot & mask] = d;
        if (k != IDLE) last_kind.store(slot + 1, __ATOMIC_RELAXED);
    }
    RARE void store_stop(uint64_t slot, uint8_t s) {
        stop[slot & mask] = s;
        if (s) last_stop.store(slot + 1, __ATOMIC_RELAXED);
    }
};

// A NIC or a switch: something with a clock of its own that may be stepped apart from the others.
struct Unit : OnHeap {
    uint64_t slot = 0;
    uint64_t evaluated = 0;  // slots
    List<Event> events;

    virtual ~Unit() {}
    // Slots up to `horizon`, which is no later than what others do now can be seen here; fewer if there are events.
    virtual void advance(uint64_t horizon, bool skip) = 0;
    virtual bool quiet() const = 0;                    // nothing happens until an input comes
    virtual uint64_t wake() const { return ~0ull; }    // the slot at which it must be stepped though no input comes
    virtual bool rest(uint64_t to) = 0;                // leave slots out, up to `to`; false if it cannot
    virtual bool leap(uint64_t to) { return rest(to); }  // the same while all units rest, perhaps one slot less
    virtual void pause() {}                            // Python is about to look
    virtual bool settled() const { return events.empty(); }  // its state is all that a unit like it needs to go on
    virtual void save(StateWriter& to) = 0;
    virtual void restore(StateReader& from) = 0;
};

// `Unit::advance` of a class whose `step` does one slot or more, up to `horizon`, but none after one with events.
template <class Kind>
void advance_steps(Kind& unit, uint64_t horizon, bool skip) {
    while (unit.slot < horizon) {
        if (skip && RARELY(unit.quiet())) {
            // What others send before `horizon` arrives no sooner than it, and what is on the wire makes it not quiet.
            uint64_t to = smaller(horizon, unit.wake());
            if (to > unit.slot && unit.rest(to)) continue;
        }
        unit.step(horizon);
        if (RARELY(!unit.events.empty())) return;
    }
}
