// N units stepped in quanta no longer than the links' latency, on one or more threads, with what Python calls at the end.
#include "engine.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "replay.h"
#include "units.h"

namespace {

constexpr uint64_t EVALUATED = 1 << 17;  // slots of all units together in one call: some tenths of a second

class Engine {
  public:
    std::vector<std::unique_ptr<Wire>> wires;
    std::vector<Unit*> units;
    std::vector<std::unique_ptr<NicUnit>> nics;
#ifdef SWITCH_PORTS
    std::vector<std::unique_ptr<SwitchUnit>> switches;
#endif
    std::vector<Event> events;
    uint64_t latency;
    bool skip = true;
    unsigned threads = 1;
    uint64_t entries = 0;

    Engine(uint32_t nic_count, uint32_t switch_count, uint64_t latency, uint64_t slot_khz) : latency(latency) {
        for (uint32_t i = 0; i < nic_count; i++) {
            nics.emplace_back(new NicUnit(i, slot_khz));
            units.push_back(nics.back().get());
        }
#ifdef SWITCH_PORTS
        for (uint32_t i = 0; i < switch_count; i++) {
            switches.emplace_back(new SwitchUnit);
            units.push_back(switches.back().get());
        }
#endif
    }
    ~Engine() { stop_threads(); }

    // Up to slot `limit`, or until some unit has events, or until so much was evaluated that Python must see to its clock and signals.
    // Returns STILL if all is still for good, CUT in the last case. Where a run is cut changes nothing but who is told when.
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

    // The slot up to which nothing happens unless the host does something; ~0 if nothing ever does, 0 if that is not known.
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
        for (unsigned i = 1; i < threads; i++) workers_.emplace_back([this, i, seen = generation_.load()]() mutable { work(i, seen); });
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

    static void advance(Unit* unit, uint64_t horizon, bool skip) {
        while (unit->slot < horizon) {
            if (skip && unit->quiet()) {
                // What others send before `horizon` arrives no sooner than it, and what is on the wire makes it not quiet.
                uint64_t to = std::min(horizon, unit->wake());
                if (to > unit->slot && unit->rest(to)) continue;
            }
            unit->step();
            if (!unit->events.empty()) return;
        }
    }

    void share(unsigned index) {
        for (size_t i = index; i < units.size(); i += threads) advance(units[i], horizon_, skip);
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

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT Engine* engine_new(uint32_t nics, uint32_t switches, uint64_t latency, uint64_t slot_khz) {
    return new Engine(nics, switches, latency, slot_khz);
}
EXPORT void engine_delete(Engine* e) { delete e; }

// One direction: from port `p` of unit `u` to port `q` of unit `v`. Units: NICs first, then switches.
EXPORT void engine_wire(Engine* e, uint32_t u, uint32_t p, uint32_t v, uint32_t q) {
    e->wires.emplace_back(new Wire(e->latency));
    Wire* wire = e->wires.back().get();
    uint32_t n = uint32_t(e->nics.size());
    if (u < n) e->nics[u]->tx = wire;
    if (v < n) e->nics[v]->rx = wire;
#ifdef SWITCH_PORTS
    if (u >= n) e->switches[u - n]->tx[p] = wire;
    if (v >= n) e->switches[v - n]->rx[q] = wire;
#endif
}
EXPORT void engine_options(Engine* e, uint32_t skip, uint32_t threads) {
    e->skip = skip;
    e->use_threads(threads);
}
EXPORT uint32_t engine_run(Engine* e, uint64_t limit) { return e->run(limit); }
EXPORT uint32_t engine_events(Engine* e, Event** events) {
    *events = e->events.data();
    return uint32_t(e->events.size());
}
// The state's bytes stay until the next call; none if the engine holds what cannot be saved.
EXPORT uint64_t engine_save(Engine* e, const uint8_t** bytes) {
    auto& saved = e->save();
    *bytes = saved.data();
    return saved.size();
}
EXPORT uint32_t engine_restore(Engine* e, const uint8_t* bytes, uint64_t size) { return e->restore(bytes, size); }
EXPORT uint64_t engine_quiet_until(Engine* e) { return e->quiet_until(); }
EXPORT uint64_t engine_slot(Engine* e, uint32_t unit) { return e->units[unit]->slot; }
EXPORT uint64_t engine_evaluated(Engine* e, uint32_t unit) { return e->units[unit]->evaluated; }
EXPORT uint64_t engine_entries(Engine* e) { return e->entries; }
EXPORT void engine_pio(Engine* e, uint32_t nic, const Pio* accesses, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) e->nics[nic]->pio.push_back(accesses[i]);
}
// `data` holds the bytes of all bursts, one after the other.
EXPORT void engine_bursts(Engine* e, uint32_t nic, uint64_t begin, const Burst* bursts, uint32_t count, const uint8_t* data, uint32_t tag) {
    e->nics[nic]->processors.add(begin, bursts, count, data, tag);
}
EXPORT void engine_map(Engine* e, uint32_t nic, uint32_t page, void* local, uint64_t remote, int32_t pid, uint32_t writable) {
    e->nics[nic]->memory.pages[page] = Page{static_cast<uint8_t*>(local), remote, pid, writable != 0};
}
EXPORT void engine_unmap(Engine* e, uint32_t nic, uint32_t page) { e->nics[nic]->memory.pages.erase(page); }
EXPORT void engine_watch(Engine* e, uint32_t nic, uint32_t address, uint32_t seen, uint32_t tag) {
    e->nics[nic]->memory.watches.push_back({address, seen, tag});
}
EXPORT void engine_unwatch(Engine* e, uint32_t nic, uint32_t tag) {
    auto& watches = e->nics[nic]->memory.watches;
    watches.erase(std::remove_if(watches.begin(), watches.end(), [tag](const Watch& w) { return w.tag == tag; }), watches.end());
}
EXPORT uint64_t engine_refused(Engine* e, uint32_t nic) { return e->nics[nic]->memory.refused; }
EXPORT uint32_t engine_wave(Engine* e, uint32_t nic, const char* file, uint64_t from, uint64_t to, uint64_t half_slot_ps) {
    NicUnit& unit = *e->nics[nic];
    return unit.wave.open(unit.model(), file, from, to, half_slot_ps);
}
// Faults of the `wire`-th wire, in the order of engine_wire.
EXPORT void engine_faults(Engine* e, uint32_t wire, const Fault* faults, uint32_t count) {
    e->wires[wire]->faults.reset(new Faults);
    for (uint32_t i = 0; i < count; i++)
        (faults[i].kind == FAULT_DOWN ? e->wires[wire]->faults->downs : e->wires[wire]->faults->plan).push_back(faults[i]);
}
EXPORT uint64_t engine_fault_count(Engine* e, uint32_t wire, uint32_t kind) {
    return e->wires[wire]->faults ? e->wires[wire]->faults->counts[kind] : 0;
}
// The inputs of every slot that a NIC evaluates from now on; how many there are, and where, until the engine runs again.
EXPORT void engine_record(Engine* e, uint32_t nic) { e->nics[nic]->record(); }
EXPORT uint64_t engine_recorded(Engine* e, uint32_t nic, const NicInputs** inputs) {
    auto* recorded = e->nics[nic]->recorded();
    *inputs = recorded->data();
    return recorded->size();
}
EXPORT uint64_t engine_replay(const NicInputs* inputs, uint64_t slots) { return replay(inputs, slots); }
// A bare evaluation loop of the same model, for comparison: what Verilator alone can give.
EXPORT void engine_bare(Engine* e, uint32_t nic, uint64_t slots) {
    NicModel& m = e->nics[nic]->model();
    for (uint64_t i = 0; i < slots; i++) tick(m);
}

#ifdef LANAI_TRACED
EXPORT void engine_trace_begin(Engine* e, uint32_t nic, const TouchRange* ranges, uint32_t count, const uint16_t* lines, uint32_t words) {
    Tracer& tracer = e->nics[nic]->tracer;
    tracer.ranges.assign(ranges, ranges + count);
    tracer.lines.assign(lines, lines + words);
}
EXPORT uint64_t engine_trace_bytes(Engine* e) {
    uint64_t bytes = 0;
    for (auto& nic : e->nics) bytes += nic->tracer.bytes();
    return bytes;
}
EXPORT void engine_trace_finish(Engine* e, uint32_t nic) { e->nics[nic]->tracer.finish(e->nics[nic]->slot); }
// The rows of one table, in the order of lanai_sim.trace.engine.TABLES; they stay until `engine_trace_clear`.
EXPORT uint64_t engine_trace_rows(Engine* e, uint32_t nic, uint32_t table, const void** rows) {
    Tracer& t = e->nics[nic]->tracer;
    auto give = [rows](auto& vector) {
        *rows = vector.data();
        return uint64_t(vector.size());
    };
    switch (table) {
        case 0: return give(t.packets_out);
        case 1: return give(t.packets_in);
        case 2: return give(t.dma);
        case 3: return give(t.processor);
        case 4: return give(t.touches);
        case 5: return give(t.lbus);
        case 6: return give(t.host_bus);
    }
    return 0;
}
EXPORT void engine_trace_clear(Engine* e, uint32_t nic) {
    Tracer& t = e->nics[nic]->tracer;
    t.packets_out.clear();
    t.packets_in.clear();
    t.dma.clear();
    t.processor.clear();
    t.touches.clear();
    t.lbus.clear();
    t.host_bus.clear();
}
#endif
