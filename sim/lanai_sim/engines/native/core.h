// The processor outside its model, for slots in which nothing else of the NIC works. In each slot it does what
// lanai_hdl.core does, on the same registers and the same SRAM. What it does not know is left to the model.
//
#pragma once
#include <stdint.h>

#include "core_state.h"

// Where the model keeps what the processor reads and writes by address.
struct CoreMemory {
    uint32_t *sram, *a, *b, *d;
    const uint32_t* registers;  // of the NIC: what a read of each returns, by its word
    const uint8_t* readable;    // by its word: it is known
    uint32_t limit;             // bytes that are SRAM

    void write_register(uint32_t index, uint32_t value) const { a[index] = b[index] = d[index] = value; }
    void store(const CoreAction& action, uint32_t address, uint32_t value) const {
        uint32_t& word = sram[address >> 2];
        if (action.size == CoreSize::WORD) {
            word = value;
            return;
        }
        const unsigned width = action.size == CoreSize::HALF ? 16 : 8, shift = 32 - width - 8 * (address & 3);
        const uint32_t mask = ((1u << width) - 1) << shift;
        word = (word & ~mask) | ((value << shift) & mask);
    }
};

// What an instruction takes to its execute stage. `operand` gives the value of a register.
template <class Operand>
CoreIssued core_issue(const CoreAction& action, const CoreState::Ready& ready, const CoreFlags& flags,
                      const Operand& operand) {
    CoreIssued next;
    next.pc = ready.pc;
    next.word = ready.word;
    next.a = action.zero ? 0 : operand(action.base);
    next.b = action.constant ? action.immediate : operand(action.rs2);
    next.d = operand(action.rs3);
    if ((action.op & 6) == 2) next.b = ~next.b;
    next.holds = flags.holds(action.cond);
    next.passes = next.holds || !action.guarded;
    next.start = action.op & 1 ? flags.carry : action.op >> 1 & 1;
    return next;
}

class Core : public CoreState {
  public:
    // As that of the registers. False if something is under way that is not known here.
    bool take(const uint64_t* model, uint64_t cpu_used) {
        executes_ = false;
        inert_ = true;
        return CoreState::take(model, cpu_used);
    }

    // In the present slot the processor changes nothing but itself and the SRAM, and all that it does is known here.
    bool inert() const { return inert_; }
    // It reads a register of the NIC in the present slot, which is inert.
    bool reads() const { return executes_ && outcome_.access && outcome_.window; }
    // The instruction before has gone through all its slots but that in which its result is written, and the next one
    // is issued.
    bool between() const {
        return ready.valid && !fetched && !issued_valid && !again && !executes_ && !loaded.writes && !arrived &&
               results == moved.writes;
    }

    // One slot, of those that are inert. False, and nothing is done, if the model has to do it.
    bool step(const CoreMemory& memory, CoreDecoded& decoded) {
        const bool go = ready.valid && !again, done = executes_ && outcome_.access;
        const bool access = done && !outcome_.window;  // it needs the bus
        const bool fetch = !access && !fetched && (!ready.valid || go);
        const CoreAction* action = go ? &decoded.at(ready.pc, ready.word) : nullptr;
        if (go && !action->defined) return false;
        if (fetch && (pc & 3 || pc >= memory.limit)) return false;

        const uint32_t came = access_loaded ? arrival() : 0;
        CoreIssued issues;
        if (go) {
            issues = core_issue(*action, ready, flags, [&](uint32_t index) { return operand(index, came, memory.a); });
        }
        write_register(memory);
        if (fetched) ready = {true, pc, rdata};
        else if (go) ready.valid = false;
        const uint32_t fetch_at = pc;
        move_fetch(fetch);
        move_results(done, go, came);
        use_bus(memory, done, access, fetch ? &memory.sram[fetch_at >> 2] : nullptr);
        again = issued_valid && action_.slow();
        issued_valid = go;
        if (go) {
            issued = issues;
            action_ = *action;
        }
        used += due;
        due = noted;
        noted = access || fetch;
        now = (now + 1) & CORE_TIME;
        executes_ = (issued_valid && !action_.slow()) || again;
        inert_ = !executes_ || (outcome_.of(action_, issued, flags, slots_left != 0, memory.limit) &&
                                (!reads() || read(memory)));
        return true;
    }

  private:
    CoreAction action_;    // of the instruction that was issued, if it has yet to execute
    CoreOutcome outcome_;  // of the instruction that executes in this slot, if `executes_`
    bool executes_, inert_;

    uint32_t operand(uint32_t index, uint32_t came, const uint32_t* registers) const {
        const bool is_loaded = index == loaded_rd && is_data(index);
        if (is_loaded && access_loaded) return came;
        if (is_loaded && loaded.writes) return loaded.value;
        if (moved.writes && index == moved.index) return moved.value;
        return index == CORE_PC ? ready.pc : registers[index];
    }

    void write_register(const CoreMemory& memory) const {
        if (arrived ? is_data(loaded_rd) : results)
            memory.write_register(arrived ? loaded_rd : moved.index, arrived ? loaded.value : moved.value);
    }

    void move_fetch(bool fetch) {
        const bool transfer = executes_ && outcome_.transfer, at_once = transfer && !outcome_.late;
        const uint8_t before = transfer ? uint8_t(outcome_.slots() - fetched) : left;
        if (fetched) pc = at_once ? outcome_.value : turns ? (arrived_to_pc ? loaded.value : target) : pc + 4;
        if (at_once) target = outcome_.value;
        else if (arrived_to_pc) target = loaded.value;
        if (fetch) turns = before == 1;
        left = uint8_t(before - (fetch && before));
        fetched = fetch;
    }

    void move_results(bool done, bool go, uint32_t came) {
        if (go) loaded.writes = false;
        else if (access_loaded) loaded.writes = is_data(loaded_rd);
        if (access_loaded) loaded.value = came;
        arrived = access_loaded;
        arrived_to_pc = access_loaded && loaded_to_pc;
        results = executes_ && outcome_.writes;
        is_held = done;
        if (!executes_) return;
        moved = {outcome_.writes, outcome_.index, outcome_.value};
        if (outcome_.sets_flags) flags = outcome_.flags;
        slots_left = outcome_.transfer ? outcome_.slots() : uint8_t(slots_left - (slots_left != 0));
        if (!done) return;
        loaded_rd = action_.rd;
        loaded_to_pc = action_.loads_pc();
    }

    // `access`: to the SRAM, in a slot without a fetch. `fetches`: the word that is fetched.
    void use_bus(const CoreMemory& memory, bool done, bool access, const uint32_t* fetches) {
        access_loaded = done && !action_.store;
        if (access_loaded) lanes = outcome_.lanes(action_);
        if (fetches) rdata = *fetches;
        if (!access) return;
        if (access_loaded) rdata = memory.sram[outcome_.address >> 2];
        else memory.store(action_, outcome_.address, issued.d);
    }

    // A read returns the value of the slot of the access.
    bool read(const CoreMemory& memory) {
        const uint32_t offset = outcome_.address - REGISTERS_LOCAL;
        if (offset == REGISTER_CYCLES) {
            value = uint32_t(now >> 1);
            return true;
        }
        value = memory.registers[offset / 4];
        return memory.readable[offset / 4];
    }
};
