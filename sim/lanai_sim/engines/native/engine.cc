// What Python calls. `FUNCTIONS` in rtl.py lists it.
#include "replay.h"
#include "stepping.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

// `of_nic`, `of_switch`: their models. `here`: a byte for each unit, zero if another part of the
// machine has it; none if all are here. Of a unit that is elsewhere Python asks for its progress alone, and what it
// asks the unit to do is left to the part that has it.
EXPORT Engine* engine_new(uint32_t nics, uint32_t switches, uint64_t latency, uint64_t slot_khz,
                          const GatesTable* of_nic, const GatesTable* of_switch, const uint8_t* here) {
    return new Engine(nics, switches, latency, slot_khz, of_nic, of_switch, here);
}
EXPORT void engine_delete(Engine* e) { delete e; }

// One direction: from port `p` of unit `u` to port `q` of unit `v`. Units: NICs first, then switches.
EXPORT void engine_wire(Engine* e, uint32_t u, uint32_t p, uint32_t v, uint32_t q) { e->join(u, p, v, q); }
// Other parts have the units that are not here. `others`: where the bytes of each of them are after `exchange`, unless
// that says otherwise. No `exchange`: the units here go on alone.
EXPORT void engine_parts(Engine* e, Exchange exchange, void* links, const uint8_t** others, uint32_t count) {
    exchange ? e->cut.begin(exchange, links, others, count) : e->cut.end();
}
EXPORT uint32_t engine_run_turn(Engine* e, Turn* turn) { return e->run_turn(*turn); }
EXPORT uint32_t engine_tell_progress(Engine* e) { return e->tell_progress(); }
EXPORT uint64_t engine_exchanges(Engine* e) { return e->cut.exchanges; }
// The part of a switch in a barrier tree of several switches.
EXPORT void engine_barrier(Engine* e, uint32_t number, uint32_t members, uint32_t parent) {
    if (e->switches[number]) e->switches[number]->barrier(members, parent);
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
EXPORT uint64_t engine_slot(Engine* e, uint32_t unit) { return e->progress_of(unit).slot; }
EXPORT uint64_t engine_evaluated(Engine* e, uint32_t unit) { return e->progress_of(unit).evaluated; }
EXPORT uint64_t engine_entries(Engine* e) { return e->entries; }
EXPORT void engine_pio(Engine* e, uint32_t nic, const Pio* accesses, uint32_t count) {
    if (e->nics[nic]) e->nics[nic]->access(accesses, count);
}
// `data` holds the bytes of all bursts, one after the other. `continuation`: what the processor does then, or none. If
// there are no bursts, it does that from `begin` on.
EXPORT void engine_bursts(Engine* e, uint32_t nic, uint64_t begin, const Burst* bursts, uint32_t count,
                          const uint8_t* data, uint32_t tag, Continuation* continuation) {
    e->nics[nic]->program(begin, bursts, count, data, tag, continuation);
}
// All continuations are left where they stand, and not gone on with here.
EXPORT void engine_give_back(Engine* e) {
    for (auto& nic : e->nics)
        if (nic) nic->give_back();
}
EXPORT void engine_map(Engine* e, uint32_t nic, uint32_t page, void* local, uint64_t remote, int32_t pid,
                       uint32_t writable) {
    e->nics[nic]->host_memory().pages.set(page, Page{static_cast<uint8_t*>(local), remote, pid, writable != 0});
}
EXPORT void engine_unmap(Engine* e, uint32_t nic, uint32_t page) { e->nics[nic]->host_memory().pages.erase(page); }
EXPORT void engine_watch(Engine* e, uint32_t nic, uint32_t address, uint32_t seen, uint32_t tag) {
    e->nics[nic]->host_memory().watches.push_back({address, seen, tag});
}
EXPORT void engine_unwatch(Engine* e, uint32_t nic, uint32_t tag) { e->nics[nic]->host_memory().unwatch(tag); }
EXPORT uint64_t engine_outside(Engine* e, uint32_t nic) { return e->nics[nic]->outside(); }
EXPORT void engine_sram(Engine* e, uint32_t nic, const uint32_t* addresses, uint32_t* words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) words[i] = e->nics[nic]->sram(addresses[i]);
}
EXPORT uint64_t engine_refused(Engine* e, uint32_t nic) { return e->nics[nic]->host_memory().refused; }
EXPORT uint32_t engine_wave(Engine* e, uint32_t nic, const char* file, const WaveSignal* signals, uint32_t count,
                            const char* header, uint64_t from, uint64_t to, uint64_t half_slot_ps) {
    return e->nics[nic]->open_wave(file, signals, count, header, from, to, half_slot_ps);
}
// Faults of the `wire`-th wire, in the order of engine_wire.
EXPORT void engine_faults(Engine* e, uint32_t wire, const Fault* faults, uint32_t count) {
    if (!e->sends(wire)) return;
    e->wires[wire]->faults.reset(new Faults);
    for (uint32_t i = 0; i < count; i++)
        (faults[i].kind == FAULT_DOWN ? e->wires[wire]->faults->downs : e->wires[wire]->faults->plan)
            .push_back(faults[i]);
}
EXPORT uint64_t engine_fault_count(Engine* e, uint32_t wire, uint32_t kind) {
    return e->sends(wire) && e->wires[wire]->faults ? e->wires[wire]->faults->counts[kind] : 0;
}
// The inputs of every slot that a NIC evaluates from now on; how many there are, and where, until the engine runs
// again.
EXPORT void engine_record(Engine* e, uint32_t nic) { e->nics[nic]->record(); }
EXPORT uint64_t engine_recorded(Engine* e, uint32_t nic, const NicInputs** inputs) {
    auto* recorded = e->nics[nic]->recorded();
    *inputs = recorded->data();
    return recorded->size();
}
// `whole`: all slots are evaluated. `outside` becomes the number of those that were not.
EXPORT uint64_t engine_replay(const NicInputs* inputs, uint64_t slots, const GatesTable* table, uint32_t whole,
                              uint64_t* outside) {
    return replayed(inputs, slots, *table, whole, *outside);
}
// A bare evaluation loop of the same model, for comparison.
EXPORT void engine_bare(Engine* e, uint32_t nic, uint64_t slots) { e->nics[nic]->bare(slots); }

// The rest is for engines of NICs with probes.
EXPORT void engine_trace_begin(Engine* e, uint32_t nic, const TouchRange* ranges, uint32_t count, const uint16_t* lines,
                               uint32_t words) {
    Tracer& tracer = e->nics[nic]->traced();
    tracer.ranges.clear();
    tracer.ranges.append(ranges, count);
    tracer.lines.clear();
    tracer.lines.append(lines, words);
}
EXPORT uint64_t engine_trace_bytes(Engine* e) {
    uint64_t bytes = 0;
    for (auto& nic : e->nics) bytes += nic->traced().bytes();
    return bytes;
}
EXPORT void engine_trace_finish(Engine* e, uint32_t nic) { e->nics[nic]->traced().finish(e->nics[nic]->slot); }
// The rows of one table, in the order of lanai_sim.trace.writer.TABLES; they stay until `engine_trace_clear`.
EXPORT uint64_t engine_trace_rows(Engine* e, uint32_t nic, uint32_t table, const void** rows) {
    Tracer& t = e->nics[nic]->traced();
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
        case 7: return give(t.blocks);
    }
    return 0;
}
EXPORT void engine_trace_clear(Engine* e, uint32_t nic) {
    Tracer& t = e->nics[nic]->traced();
    t.packets_out.clear();
    t.packets_in.clear();
    t.dma.clear();
    t.processor.clear();
    t.touches.clear();
    t.lbus.clear();
    t.host_bus.clear();
    t.blocks.clear();
}

extern "C" __attribute__((visibility("hidden"))) void __cxa_pure_virtual() { abort(); }
