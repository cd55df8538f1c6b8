// N units stepped in quanta no longer than the links' latency, on one or more threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "engine.h"
#include "state.h"
#include "units.h"

namespace {  // engine.cc alone includes this file

constexpr uint64_t EVALUATED = 1 << 17;  // slots of all units together in one call: some tenths of a second

class Engine {
  public:
    std::vector<std::unique_ptr<Wire>> wires;
    std::vector<Unit*> units;
    std::vector<std::unique_ptr<Nic>> nics;
    std::vector<std::unique_ptr<Switch>> switches;
    std::vector<Event> events;
    uint64_t latency;
    bool skip = true;
    unsigned threads = 1;
    uint64_t entries = 0;

    Engine(uint32_t nic_count, uint32_t switch_count, uint64_t latency, uint64_t slot_khz, const uint32_t* of_nic,
           const uint32_t* of_switch)
        : latency(latency) {
        for (uint32_t i = 0; i < nic_count; i++) {
            nics.emplace_back(new_nic(i, slot_khz, of_nic));
            units.push_back(nics.back().get());
        }
        for (uint32_t i = 0; i < switch_count; i++) {
            switches.emplace_back(new_switch(of_switch));
            units.push_back(switches.back().get());
        }
    }
    ~Engine() { stop_threads(); }

    // Up to slot `limit`, or until some unit has events, or until so much was evaluated that Python must see to its
    // clock and signals. Returns STILL if all is still for good, CUT in the last case. Where a run is cut changes
    // no cycle and no event, only when Python gets them.
    uint32_t run(uint64_t limit) {
        entries++;
        events.clear();
        uint64_t rounds = EVALUATED / (latency * units.size()) + 1;
        bool still = false, cut = false;
        while (true) {
            uint64_t first = ~0ull;
            for (Unit* unit : units) first = std::min(first, unit->slot);
            if (first >= limit) break;
            if (!rounds--) {
                cut = true;
                break;
            }
            if (all_quiet()) {
                uint64_t to = leap();
                still = to == ~0ull;
                if (still) break;
                if (!skip) to = 0;
                to = std::min(to, limit);
                bool moved = false;
                for (Unit* unit : units)
                    if (to > unit->slot) moved |= unit->rest(to);
                if (moved) continue;
            }
            horizon_ = std::min(limit, first + latency);
            round();
            for (Unit* unit : units) {
                events.insert(events.end(), unit->events.begin(), unit->events.end());
                unit->events.clear();
            }
            if (!events.empty()) break;
        }
        for (Unit* unit : units) unit->pause();
        return cut ? uint32_t(CUT) : still && events.empty() ? uint32_t(STILL) : 0;
    }

    // The slot up to which nothing happens unless the host does something; ~0 if nothing ever does, 0 if that is not
    // known.
    uint64_t quiet_until() const { return skip && all_quiet() ? leap() : 0; }

    // All state of units and wires; none if some of it is elsewhere.
    const std::vector<uint8_t>& save() {
        StateWriter to;
        bool settled = true;
        for (Unit* unit : units) settled &= unit->settled();
        for (auto& wire : wires) settled &= !wire->faults;
        if (settled) {
            for (auto& wire : wires) wire->state(to);
            for (Unit* unit : units) unit->save(to);
            to.flush();
        }
        saved_.swap(to.bytes);
        return saved_;
    }

    // False if these are not the bytes of such an engine; it is of no use then.
    bool restore(const uint8_t* bytes, size_t size) {
        StateReader from(bytes, size);
        for (auto& wire : wires) wire->state(from);
        for (Unit* unit : units) unit->restore(from);
        return from.exact();
    }

    void use_threads(unsigned count) {
        stop_threads();
        threads = std::max(1u, std::min<unsigned>(count, unsigned(units.size())));
        quit_ = false;
        for (unsigned i = 1; i < threads; i++)
            workers_.emplace_back([this, i, seen = generation_.load()]() mutable { work(i, seen); });
    }

  private:
    uint64_t horizon_ = 0;
    std::vector<uint8_t> saved_;
    std::vector<std::thread> workers_;
    std::atomic<uint64_t> generation_{0};
    std::atomic<unsigned> left_{0};
    std::atomic<bool> quit_{false};

    bool all_quiet() const {
        for (Unit* unit : units)
            if (!unit->quiet()) return false;
        return true;
    }

    // With all units quiet: the slot up to which nothing happens; ~0 if nothing ever does.
    uint64_t leap() const {
        uint64_t to = ~0ull;
        for (Unit* unit : units) to = std::min(to, unit->wake());
        return to;
    }

    void share(unsigned index) {
        for (size_t i = index; i < units.size(); i += threads) units[i]->advance(horizon_, skip);
    }

    void round() {
        if (threads == 1) return share(0);
        left_.store(threads - 1, std::memory_order_relaxed);
        generation_.fetch_add(1, std::memory_order_release);
        share(0);
        for (unsigned spins = 0; left_.load(std::memory_order_acquire);)
            if (++spins > 4000) std::this_thread::yield();
    }

    void work(unsigned index, uint64_t seen) {
        for (unsigned spins = 0;;) {
            if (quit_.load(std::memory_order_acquire)) return;
            if (generation_.load(std::memory_order_acquire) == seen) {
                if (++spins > 4000) std::this_thread::yield();
                if (spins > 100000) std::this_thread::sleep_for(std::chrono::microseconds(50));
                continue;
            }
            seen++;
            spins = 0;
            share(index);
            left_.fetch_sub(1, std::memory_order_release);
        }
    }

    void stop_threads() {
        quit_ = true;
        for (auto& worker : workers_) worker.join();
        workers_.clear();
    }
};

}  // namespace
