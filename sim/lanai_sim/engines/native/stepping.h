// N units stepped in quanta no longer than the links' latency, on one or more threads.
#pragma once

#include <sched.h>
#include <unistd.h>

#include "cut.h"
#include "engine.h"
#include "state.h"
#include "nic_unit.h"
#include "switch_unit.h"

constexpr uint64_t EVALUATED = 1 << 17;  // slots of all units together in one call: some tenths of a second

class Engine : public OnHeap {
  public:
    List<Owned<Wire>> wires;
    List<Unit*> units;                        // those that are simulated here
    List<Owned<NicUnit>> nics;          // by number; none where another part has it
    List<Owned<SwitchUnit>> switches;   // the same
    List<Progress> progress;                  // of all units, by number; of those here it may be old
    List<Event> events;
    Cut cut;
    uint64_t latency;
    bool skip = true;
    unsigned threads = 1;
    uint64_t entries = 0;

    // `here`: a byte for each unit, zero if another part has it; none if all are here.
    Engine(uint32_t nic_count, uint32_t switch_count, uint64_t latency, uint64_t slot_khz, const GatesTable* of_nic,
           const GatesTable* of_switch, const uint8_t* here)
        : latency(latency) {
        for (uint32_t i = 0; i < nic_count + switch_count; i++) progress.push_back({0, 0, i, !here || here[i]});
        for (uint32_t i = 0; i < nic_count; i++) {
            nics.push_back(Owned<NicUnit>(progress[i].here ? new NicUnit(i, slot_khz, *of_nic) : nullptr));
            if (nics.back()) units.push_back(nics.back().get());
        }
        for (uint32_t i = 0; i < switch_count; i++) {
            const bool is_here = progress[nic_count + i].here;
            switches.push_back(Owned<SwitchUnit>(is_here ? new SwitchUnit(*of_switch) : nullptr));
            if (switches.back()) units.push_back(switches.back().get());
        }
        if (units.size() == progress.size()) return;
        spare_nic_.reset(new NicUnit(0, slot_khz, *of_nic));
        if (switch_count) spare_switch_.reset(new SwitchUnit(*of_switch));
    }
    ~Engine() { stop_threads(); }

    // One direction of a cable: from port `p` of unit `u` to port `q` of unit `v`.
    void join(uint32_t u, uint32_t p, uint32_t v, uint32_t q) {
        bool sends = progress[u].here, receives = progress[v].here;
        sends_.push_back(sends);
        uint32_t number = uint32_t(wires.size()), n = uint32_t(nics.size());
        wires.push_back(Owned<Wire>(sends || receives ? new Wire(latency) : nullptr));
        Wire* wire = wires.back().get();
        if (sends) u < n ? nics[u]->join_tx(wire) : switches[u - n]->join_tx(p, wire);
        if (receives) v < n ? nics[v]->join_rx(wire) : switches[v - n]->join_rx(q, wire);
        if (sends != receives) cut.wire(number, wire, sends);
    }

    // Up to slot `limit`, or until some unit has events, or until so much was evaluated that Python must see to its
    // clock and signals. Returns STILL if all is still for good, CUT in the last case, ENDED if another part cannot
    // go on. Where a run is cut changes no cycle and no event, only when Python gets them.
    uint32_t run(uint64_t limit) {
        Turn turn{limit, 0, 0, 0, 0};
        uint32_t ending = run_turn(turn);
        return ending & ENDED || tell_progress() ? ending : uint32_t(ENDED);
    }

    // As `run`, up to the limit of the part that wants the earliest. `turn` is what this part wants, and then what all
    // want together. Nothing is run if all are done.
    //
    // Parts of one machine do the same rounds as one process would: each round begins with a view of all of them.
    uint32_t run_turn(Turn& turn) {
        entries++;
        spare_nic_.reset();
        spare_switch_.reset();
        events.clear();
        uint64_t rounds = EVALUATED / (latency * progress.size()) + 1;
        bool still = false, cut_short = false, left_out = false, moved = false;
        while (true) {
            View all = view(moved);
            if (cut.active() && !cut.meet(all, turn, events, nullptr)) return ENDED;
            if (turn.done) return 0;
            if (!events.empty()) break;
            if (!left_out || all.moved) {
                if (all.first >= turn.limit) break;
                if (!rounds--) {
                    cut_short = true;
                    break;
                }
                if (all.quiet) {
                    still = all.wake == ~0ull;
                    if (still) break;
                    left_out = true;
                    moved = leave_out(smaller(skip ? all.wake : 0, turn.limit));
                    continue;
                }
            }
            left_out = moved = false;
            horizon_ = smaller(turn.limit, all.first + latency);
            round();
            for (Unit* unit : units) {
                events.append(unit->events.data(), unit->events.size());
                unit->events.clear();
            }
        }
        for (Unit* unit : units) unit->pause();
        return cut_short ? uint32_t(CUT) : still && events.empty() ? uint32_t(STILL) : 0;
    }

    // Tell the other parts how far the units here are, and learn it of theirs. False if that failed.
    bool tell_progress() {
        if (!cut.active()) return true;
        for (Progress& one : progress)
            if (one.here) one = progress_of(one.unit);
        View all = view(false);
        Turn turn{~0ull, 0, 0, 0, 0};
        List<Event> none;
        return cut.meet(all, turn, none, &progress);
    }

    // The slot up to which nothing happens unless the host does something; ~0 if nothing ever does, 0 if that is not
    // known.
    uint64_t quiet_until() const { return skip && !cut.active() && all_quiet() ? leap() : 0; }

    Progress progress_of(uint32_t number) const {
        const Unit* unit = unit_of(number);
        return unit ? Progress{unit->slot, unit->evaluated, number, 1} : progress[number];
    }

    // All state of units and wires; none if some of it is elsewhere.
    const List<uint8_t>& save() {
        StateWriter to;
        bool settled = units.size() == progress.size();
        for (Unit* unit : units) settled &= unit->settled();
        for (auto& wire : wires) settled &= wire && !wire->faults;
        if (settled) {
            for (auto& wire : wires) wire->state(to);
            for (Unit* unit : units) unit->save(to);
            to.flush();
        }
        saved_.swap(to.bytes);
        return saved_;
    }

    // The state of all units, of which some may be elsewhere. False if these are not the bytes of such an engine; it is
    // of no use then.
    bool restore(const uint8_t* bytes, size_t size) {
        StateReader from(bytes, size);
        Wire elsewhere(latency);
        for (auto& wire : wires) (wire ? *wire : elsewhere).state(from);
        for (Progress& one : progress) {
            bool is_nic = one.unit < nics.size();
            Unit* spare = is_nic ? static_cast<Unit*>(spare_nic_.get()) : spare_switch_.get();
            Unit* unit = one.here ? const_cast<Unit*>(unit_of(one.unit)) : spare;
            unit->restore(from);
            one = {unit->slot, unit->evaluated, one.unit, one.here};
        }
        cut.restored();
        return from.exact();
    }

    void use_threads(unsigned count) {
        stop_threads();
        threads = larger(1u, smaller<unsigned>(count, unsigned(units.size())));
        quit_ = false;
        for (unsigned i = 1; i < threads; i++)
            begin_worker(i);
    }

    // The sender of a wire is here.
    bool sends(uint32_t wire) const { return sends_[wire]; }

  private:
    uint64_t horizon_ = 0;
    List<bool> sends_;
    Owned<NicUnit> spare_nic_;  // they take what is restored of units elsewhere
    Owned<SwitchUnit> spare_switch_;
    List<uint8_t> saved_;
    List<pthread_t> workers_;
    struct Worker : OnHeap {
        Engine* engine;
        unsigned index;
        uint64_t seen;
    };
    Shared<uint64_t> generation_{0};
    Shared<unsigned> left_{0};
    Shared<bool> quit_{false};

    const Unit* unit_of(uint32_t number) const {
        size_t n = nics.size();
        return number < n ? static_cast<const Unit*>(nics[number].get()) : switches[number - n].get();
    }

    // Of the units here.
    View view(bool moved) const {
        View found{~0ull, ~0ull, all_quiet(), moved};
        for (Unit* unit : units) found.first = smaller(found.first, unit->slot);
        if (found.quiet) found.wake = leap();
        return found;
    }

    // With all units quiet: leave slots out, up to `to`. False if no unit here could.
    bool leave_out(uint64_t to) {
        bool moved = false;
        for (Unit* unit : units)
            if (to > unit->slot) moved |= unit->leap(to);
        return moved;
    }

    bool all_quiet() const {
        for (Unit* unit : units)
            if (!unit->quiet()) return false;
        return true;
    }

    // With all units quiet: the slot up to which nothing happens; ~0 if nothing ever does.
    uint64_t leap() const {
        uint64_t to = ~0ull;
        for (Unit* unit : units) to = smaller(to, unit->wake());
        return to;
    }

    void share(unsigned index) {
        for (size_t i = index; i < units.size(); i += threads) units[i]->advance(horizon_, skip);
    }

    void round() {
        if (threads == 1) return share(0);
        left_.store(threads - 1, __ATOMIC_RELAXED);
        generation_.add(1, __ATOMIC_RELEASE);
        share(0);
        for (unsigned spins = 0; left_.load(__ATOMIC_ACQUIRE);)
            if (++spins > 4000) sched_yield();
    }

    void work(unsigned index, uint64_t seen) {
        for (unsigned spins = 0;;) {
            if (quit_.load(__ATOMIC_ACQUIRE)) return;
            if (generation_.load(__ATOMIC_ACQUIRE) == seen) {
                if (++spins > 4000) sched_yield();
                if (spins > 100000) usleep(50);
                continue;
            }
            seen++;
            spins = 0;
            share(index);
            left_.add(~0u, __ATOMIC_RELEASE);
        }
    }

    void begin_worker(unsigned index) {
        auto* worker = new Worker;
        worker->engine = this;
        worker->index = index;
        worker->seen = generation_.load();
        pthread_t thread;
        if (pthread_create(&thread, nullptr, run_worker, worker)) abort();
        workers_.push_back(thread);
    }
    static void* run_worker(void* given) {
        Owned<Worker> worker(static_cast<Worker*>(given));
        worker->engine->work(worker->index, worker->seen);
        return nullptr;
    }

    void stop_threads() {
        quit_ = true;
        for (pthread_t worker : workers_) pthread_join(worker, nullptr);
        workers_.clear();
    }
};

