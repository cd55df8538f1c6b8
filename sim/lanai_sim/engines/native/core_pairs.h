// Pairs of slots of the processor outside its model. Most instructions take two: one in which the instruction is
// issued and the next one is fetched, and one in which it executes. Here is what both do together, with nothing that
// an instruction of another kind needs. `Core::step` says what happens in each slot.
#pragma once
#include <stdint.h>

#include "core.h"

class CorePairs {
  public:
    // All NICs of a thread run much the same instructions.
    static CoreDecoded& decoded() {
        static thread_local CoreDecoded instructions;
        return instructions;
    }

    // The processor has done something else than pairs.
    void forget() { viewed_ = false; }

    // Up to so many slots. Return how many were done, an even number: those of plain instructions only.
    uint32_t run(Core& core, const CoreMemory& memory, uint32_t slots) {
        if (slots < 2 || !core.between()) return 0;
        if (!viewed_) look(core, memory);
        Registers it{core};
        uint32_t done = 0;
        CoreDecoded& instructions = decoded();
        while (done + 2 <= slots && pair(it, instructions, memory)) done += 2;
        if (done) it.put(core, done);
        return done;
    }

  private:
    // Registers as the instruction that is issued next reads them, with what is on its way to them.
    uint32_t view_[32];
    bool viewed_ = false;

    // Registers of the processor, in local variables of `run`. Those that are left out have values that are known
    // between two pairs.
    struct Registers {
        uint32_t pc, next_pc, word, target, rdata, value, used;
        CoreIssued issued;
        CoreState::Result moved;
        CoreFlags flags;
        CoreLanes lanes;
        uint32_t loaded_value;
        bool loaded_to_pc, access_loaded, turns, noted, due, is_held;
        uint8_t loaded_rd, left, slots_left;

        explicit Registers(const Core& core)
            : pc(core.ready.pc), next_pc(core.pc), word(core.ready.word), target(core.target), rdata(core.rdata),
              value(core.value), used(core.used), moved(core.moved), flags(core.flags), lanes(core.lanes),
              loaded_value(core.loaded.value), loaded_to_pc(core.loaded_to_pc), access_loaded(core.access_loaded),
              turns(core.turns), noted(core.noted), due(core.due), loaded_rd(core.loaded_rd), left(core.left),
              slots_left(core.slots_left) {}

        void put(Core& core, uint32_t slots) const {
            core.ready = {true, pc, word};
            core.pc = next_pc;
            core.target = target;
            core.rdata = rdata;
            core.used = used;
            core.issued = issued;
            core.moved = moved;
            core.results = moved.writes;
            core.flags = flags;
            core.lanes = lanes;
            core.loaded.value = loaded_value;
            core.loaded_to_pc = loaded_to_pc;
            core.access_loaded = access_loaded;
            core.turns = turns;
            core.noted = noted;
            core.due = due;
            core.is_held = is_held;
            core.loaded_rd = loaded_rd;
            core.left = left;
            core.slots_left = slots_left;
            core.arrived_to_pc = false;
            core.now = (core.now + slots) & CORE_TIME;
        }
    };

    void look(const Core& core, const CoreMemory& memory) {
        for (unsigned i = 0; i < 32; i++) view_[i] = memory.a[i];
        if (core.moved.writes) view_[core.moved.index] = core.moved.value;
        viewed_ = true;
    }

    // False, and nothing is done, if the instruction is not plain.
    __attribute__((always_inline)) bool pair(Registers& it, CoreDecoded& decoded, const CoreMemory& memory) {
        const CoreAction& action = decoded.at(it.pc, it.word);
        if (!action.plain() || it.next_pc & 3 || it.next_pc >= memory.limit) return false;
        uint32_t came = 0;
        if (it.access_loaded) {
            came = it.lanes.pick(it.lanes.window ? it.value : it.rdata);
            if (CoreState::is_data(it.loaded_rd)) view_[it.loaded_rd] = came;
        }
        view_[CORE_PC] = it.pc;
        const CoreIssued issued = core_issue(action, {true, it.pc, it.word}, it.flags,
                                             [this](uint32_t index) { return view_[index]; });
        CoreOutcome outcome;
        if (!outcome.of(action, issued, it.flags, it.slots_left != 0, memory.limit) || outcome.window) return false;
        const uint32_t fetched = memory.sram[it.next_pc >> 2];
        write_registers(it, memory, came);
        move_fetch(it, outcome, came, fetched);
        move_results(it, outcome);
        it.issued = issued;
        it.rdata = fetched;
        it.is_held = outcome.access;
        it.access_loaded = outcome.access && !action.store;
        if (outcome.access) {
            it.loaded_rd = action.rd;
            it.loaded_to_pc = action.loads_pc();
            if (action.store) {
                memory.store(action, outcome.address, issued.d);
            } else {
                it.lanes = outcome.lanes(action);
                it.rdata = memory.sram[outcome.address >> 2];
            }
        }
        it.used += it.due + it.noted;
        it.due = true;
        it.noted = outcome.access;
        return true;
    }

    // The result of the instruction before is written in the first slot, and what it has loaded in the second.
    static void write_registers(Registers& it, const CoreMemory& memory, uint32_t came) {
        if (it.moved.writes) memory.write_register(it.moved.index, it.moved.value);
        if (!it.access_loaded) return;
        if (CoreState::is_data(it.loaded_rd)) memory.write_register(it.loaded_rd, came);
        it.loaded_value = came;
    }

    static void move_fetch(Registers& it, const CoreOutcome& outcome, uint32_t came, uint32_t fetched) {
        const bool turns = it.left == 1, to_pc = it.access_loaded && it.loaded_to_pc;
        it.turns = turns;
        it.left = uint8_t(it.left - (it.left != 0));
        if (to_pc) it.target = came;
        it.pc = it.next_pc;
        it.word = fetched;
        it.next_pc = turns ? it.target : it.next_pc + 4;
        if (!outcome.transfer) return;
        it.left = uint8_t(outcome.slots() - 1);
        if (!outcome.late) it.next_pc = it.target = outcome.value;
    }

    void move_results(Registers& it, const CoreOutcome& outcome) {
        it.moved = {outcome.writes, outcome.index, outcome.value};
        if (outcome.writes) view_[outcome.index] = outcome.value;
        if (outcome.sets_flags) it.flags = outcome.flags;
        it.slots_left = outcome.transfer ? outcome.slots() : uint8_t(it.slots_left - (it.slots_left != 0));
    }
};
