// The processor outside its model, for slots in which nothing else of the NIC works. In each slot it does what
// lanai_hdl.core does, on the same registers and the same SRAM. What it does not know is left to the model.
//
// nic_model.h declares CORE_LIMIT, CORE_CPU_USED, CORE_WORDS, the words of a model by name, where fields are, and
// `core_read`, which gives the value that a read of a register returns while nothing but the processor works.
#pragma once
#include <cstdint>

#include "core_execute.h"
#include "core_instruction.h"

// Where the model keeps what the processor reads and writes by address.
struct CoreMemory {
    uint32_t *sram, *a, *b, *d;
    const NicModel* model;
};

class Core {
  public:
    // Go on from the registers of a model, in a slot in which the processor issues an instruction. False if something
    // is under way that is not known here.
    bool take(const uint64_t* model) {
        if ((model[CORE_NOTED] | model[CORE_DUE]) & ~CORE_CPU_USED) return false;
        if (model[CORE_ACCESS_LOADED] && !model[CORE_ON_BUS]) return false;
        if (field(model, CORE_READY, READY_FAULT, 3) || model[CORE_FETCHED_FAULT]) return false;
        ready_ = {true, field(model, CORE_READY, READY_PC, 32), field(model, CORE_READY, READY_WORD, 32)};
        issued_ = {};
        issued_valid_ = again_ = false;
        moved_ = outcome(model[CORE_MOVED]);
        loaded_ = outcome(model[CORE_LOADED]);
        results_ = model[CORE_RESULTS];
        arrived_ = model[CORE_ARRIVED];
        arrived_to_pc_ = model[CORE_ARRIVED_TO_PC];
        loaded_rd_ = uint8_t(model[CORE_LOADED_RD]);
        loaded_to_pc_ = model[CORE_LOADED_TO_PC];
        fetched_ = model[CORE_FETCHED];
        pc_ = uint32_t(model[CORE_FETCH_PC]);
        left_ = uint8_t(model[CORE_FETCH_LEFT]);
        turns_ = model[CORE_FETCH_TURNS];
        target_ = uint32_t(model[CORE_FETCH_TARGET]);
        slots_left_ = uint8_t(model[CORE_SLOTS_LEFT]);
        flags_ = {uint32_t(model[CORE_FLAGS_RESULT]), model[CORE_CARRY] != 0, model[CORE_OVERFLOW] != 0};
        rdata_ = uint32_t(model[CORE_RDATA]);
        is_held_ = model[CORE_IS_HELD];
        access_loaded_ = model[CORE_ACCESS_LOADED];
        lanes_.take(model);
        noted_ = model[CORE_NOTED] != 0;
        due_ = model[CORE_DUE] != 0;
        used_ = uint32_t(model[CORE_USED]);
        now_ = model[CORE_NOW];
        executes_ = false;
        return inert_ = true;
    }

    // In the present slot the processor changes nothing but itself and the SRAM, and all that it does is known here.
    bool inert() const { return inert_; }
    // It reads a register of the NIC in the present slot, which is inert.
    bool reads() const { return executes_ && outcome_.access && outcome_.window; }

    // One slot, of those that are inert. False, and nothing is done, if the model has to do it.
    bool step(const CoreMemory& memory) {
        const bool go = ready_.valid && !again_, done = executes_ && outcome_.access;
        const bool access = done && !outcome_.window;  // it needs the bus
        const bool fetch = !access && !fetched_ && (!ready_.valid || go);
        CoreAction action;
        if (go && !(action = CoreDecoder::decode(ready_.word)).defined) return false;
        if (fetch && (pc_ & 3 || pc_ >= CORE_LIMIT)) return false;

        const uint32_t arrival = access_loaded_ ? lanes_.pick(lanes_.window ? value_ : rdata_) : 0;
        CoreIssued issues;
        if (go) issues = issue(action, arrival, memory.a);
        write_register(memory);
        if (fetched_) ready_ = {true, pc_, rdata_};
        else if (go) ready_.valid = false;
        const uint32_t fetch_at = pc_;
        move_fetch(fetch);
        move_results(done, go, arrival);
        use_bus(memory, done, access, fetch ? &memory.sram[fetch_at >> 2] : nullptr);
        again_ = issued_valid_ && issued_.action.slow();
        issued_valid_ = go;
        if (go) issued_ = issues;
        used_ += due_;
        due_ = noted_;
        noted_ = access || fetch;
        now_ = (now_ + 1) & 0x1FFFFFFFFull;
        executes_ = (issued_valid_ && !issued_.action.slow()) || again_;
        inert_ = !executes_ || (outcome_.of(issued_, flags_, slots_left_ != 0) && (!reads() || read(memory)));
        return true;
    }

    // Put the registers into those of a model. A register of the NIC was not read in the slot before.
    void give(uint64_t* model) const {
        give_ready(model);
        give_issued(model);
        model[CORE_AGAIN] = again_;
        model[CORE_MOVED] = bits(moved_);
        model[CORE_LOADED] = bits(loaded_);
        model[CORE_RESULTS] = results_;
        model[CORE_ARRIVED] = arrived_;
        model[CORE_ARRIVED_TO_PC] = arrived_to_pc_;
        model[CORE_LOADED_RD] = loaded_rd_;
        model[CORE_LOADED_TO_PC] = loaded_to_pc_;
        model[CORE_FETCHED] = fetched_;
        model[CORE_FETCHED_FAULT] = 0;
        model[CORE_FETCH_PC] = pc_;
        model[CORE_FETCH_LEFT] = left_;
        model[CORE_FETCH_TURNS] = turns_;
        model[CORE_FETCH_TARGET] = target_;
        model[CORE_SLOTS_LEFT] = slots_left_;
        model[CORE_FLAGS_RESULT] = flags_.result;
        model[CORE_CARRY] = flags_.carry;
        model[CORE_OVERFLOW] = flags_.overflow;
        model[CORE_SHIFTED] = core_shift(issued_.a, issued_.b, issued_.action.arithmetic).result;
        model[CORE_RDATA] = rdata_;
        model[CORE_IS_HELD] = is_held_;
        model[CORE_ACCESS_LOADED] = access_loaded_;
        lanes_.give(model);
        model[CORE_NOTED] = noted_ ? CORE_CPU_USED : 0;
        model[CORE_DUE] = due_ ? CORE_CPU_USED : 0;
        model[CORE_USED] = used_;
        model[CORE_NOW] = now_;
    }

  private:
    struct Ready {
        bool valid;
        uint32_t pc, word;
    };
    struct Outcome {
        bool writes;
        uint8_t index;
        uint32_t value;
    };

    Ready ready_;
    CoreIssued issued_;
    CoreOutcome outcome_;  // of the instruction that executes in this slot, if `executes_`
    Outcome moved_, loaded_;
    CoreFlags flags_;
    CoreLanes lanes_;  // of what the access of the slot before has read, if `access_loaded_`
    bool executes_, inert_, issued_valid_, again_, results_, arrived_, arrived_to_pc_, loaded_to_pc_;
    bool fetched_, turns_, is_held_, access_loaded_, noted_, due_;
    uint8_t loaded_rd_, left_, slots_left_;
    uint32_t pc_, target_, rdata_, used_;
    uint32_t value_;  // of the register that was read
    uint64_t now_;

    static bool is_data(unsigned index) { return index > CORE_PC; }
    static Outcome outcome(uint64_t word) { return {bool(word & 1), uint8_t(word >> 1 & 31), uint32_t(word >> 6)}; }
    static uint64_t bits(const Outcome& one) { return one.writes | one.index << 1 | uint64_t(one.value) << 6; }

    uint32_t operand(uint32_t index, uint32_t arrival, const uint32_t* registers) const {
        const bool is_loaded = index == loaded_rd_ && is_data(index);
        if (is_loaded && access_loaded_) return arrival;
        if (is_loaded && loaded_.writes) return loaded_.value;
        if (moved_.writes && index == moved_.index) return moved_.value;
        return index == CORE_PC ? ready_.pc : registers[index];
    }

    CoreIssued issue(const CoreAction& action, uint32_t arrival, const uint32_t* registers) const {
        CoreIssued next;
        next.action = action;
        next.pc = ready_.pc;
        next.word = ready_.word;
        next.a = action.zero ? 0 : operand(action.base, arrival, registers);
        next.b = action.constant ? action.immediate : operand(action.rs2, arrival, registers);
        next.d = operand(action.rs3, arrival, registers);
        if ((action.op & 6) == 2) next.b = ~next.b;
        next.holds = flags_.holds(action.cond);
        next.passes = next.holds || !action.guarded;
        next.start = action.op & 1 ? flags_.carry : action.op >> 1 & 1;
        return next;
    }

    void write_register(const CoreMemory& memory) const {
        const bool enable = arrived_ ? is_data(loaded_rd_) : results_;
        if (!enable) return;
        const uint32_t index = arrived_ ? loaded_rd_ : moved_.index, value = arrived_ ? loaded_.value : moved_.value;
        memory.a[index] = memory.b[index] = memory.d[index] = value;
    }

    void move_fetch(bool fetch) {
        const bool transfer = executes_ && outcome_.transfer, at_once = transfer && !outcome_.late;
        const uint8_t before = transfer ? uint8_t(outcome_.slots() - fetched_) : left_;
        if (fetched_) pc_ = at_once ? outcome_.value : turns_ ? (arrived_to_pc_ ? loaded_.value : target_) : pc_ + 4;
        if (at_once) target_ = outcome_.value;
        else if (arrived_to_pc_) target_ = loaded_.value;
        if (fetch) turns_ = before == 1;
        left_ = uint8_t(before - (fetch && before));
        fetched_ = fetch;
    }

    void move_results(bool done, bool go, uint32_t arrival) {
        if (go) loaded_.writes = false;
        else if (access_loaded_) loaded_.writes = is_data(loaded_rd_);
        if (access_loaded_) loaded_.value = arrival;
        arrived_ = access_loaded_;
        arrived_to_pc_ = access_loaded_ && loaded_to_pc_;
        results_ = executes_ && outcome_.writes;
        is_held_ = done;
        if (!executes_) return;
        moved_ = {outcome_.writes, outcome_.index, outcome_.value};
        if (outcome_.sets_flags) flags_ = outcome_.flags;
        slots_left_ = outcome_.transfer ? outcome_.slots() : uint8_t(slots_left_ - (slots_left_ != 0));
        if (!done) return;
        loaded_rd_ = issued_.action.rd;
        loaded_to_pc_ = issued_.action.loads_pc();
    }

    // `access`: to the SRAM, in a slot without a fetch. `fetched`: the word that is fetched.
    void use_bus(const CoreMemory& memory, bool done, bool access, const uint32_t* fetched) {
        access_loaded_ = done && !issued_.action.store;
        if (access_loaded_)
            lanes_ = {issued_.action.size, issued_.action.is_signed, uint8_t(outcome_.address & 3), outcome_.window};
        if (fetched) rdata_ = *fetched;
        if (!access) return;
        uint32_t& word = memory.sram[outcome_.address >> 2];
        if (access_loaded_) rdata_ = word;
        else store(word, outcome_.address & 3);
    }

    // A read returns the value of the slot of the access.
    bool read(const CoreMemory& memory) {
        const uint32_t offset = outcome_.address - REGISTERS_LOCAL;
        if (offset != REGISTER_CYCLES) return core_read(memory.model->rootp, offset, &value_);
        value_ = uint32_t(now_ >> 1);
        return true;
    }

    void store(uint32_t& word, uint32_t low) const {
        const unsigned width = issued_.action.size == CoreSize::WORD   ? 32
                               : issued_.action.size == CoreSize::HALF ? 16
                                                                       : 8;
        const unsigned shift = 32 - width - 8 * low;
        const uint32_t mask = (width == 32 ? ~0u : (1u << width) - 1) << shift;
        word = (word & ~mask) | ((issued_.d << shift) & mask);
    }

    // Fields of structures that the model keeps in words of 32 bits, from `first` on.
    static uint32_t field(const uint64_t* model, unsigned first, unsigned offset, unsigned width) {
        const uint64_t* word = model + first + offset / 32;
        const uint64_t high = offset % 32 + width > 32 ? word[1] : 0;
        return uint32_t((word[0] | high << 32) >> offset % 32 & ((1ull << width) - 1));
    }
    static void put(uint64_t* model, unsigned first, unsigned offset, unsigned width, uint64_t value) {
        for (unsigned i = 0; i < width; i += 32 - (offset + i) % 32) {
            uint64_t& word = model[first + (offset + i) / 32];
            const unsigned at = (offset + i) % 32, count = width - i < 32 - at ? width - i : 32 - at;
            const uint64_t mask = ((1ull << count) - 1) << at;
            word = (word & ~mask) | ((value >> i << at) & mask);
        }
    }

    void give_ready(uint64_t* model) const {
        put(model, CORE_READY, READY_VALID, 1, ready_.valid);
        put(model, CORE_READY, READY_PC, 32, ready_.pc);
        put(model, CORE_READY, READY_WORD, 32, ready_.word);
        put(model, CORE_READY, READY_FAULT, 3, 0);
    }

    void give_issued(uint64_t* model) const {
        const CoreAction& action = issued_.action;
        put(model, CORE_ISSUED, ISSUED_VALID, 1, issued_valid_);
        put(model, CORE_ISSUED, ISSUED_PC, 32, issued_.pc);
        put(model, CORE_ISSUED, ISSUED_WORD, 32, issued_.word);
        put(model, CORE_ISSUED, ISSUED_FAULT, 3, 0);
        put(model, CORE_ISSUED, ISSUED_SOUND, 1, 1);
        put(model, CORE_ISSUED, ISSUED_UNDEFINED, 1, 0);
        put(model, CORE_ISSUED, ISSUED_UNIT, 3, unsigned(action.unit));
        put(model, CORE_ISSUED, ISSUED_OP, 3, action.op);
        put(model, CORE_ISSUED, ISSUED_ARITHMETIC, 1, action.arithmetic);
        put(model, CORE_ISSUED, ISSUED_FUNCTION, 2, action.function);
        put(model, CORE_ISSUED, ISSUED_COND, 4, action.cond);
        put(model, CORE_ISSUED, ISSUED_GUARDED, 1, action.guarded);
        put(model, CORE_ISSUED, ISSUED_FLAGS, 1, action.flags);
        put(model, CORE_ISSUED, ISSUED_CLEAR_CARRY, 1, action.clear_carry);
        put(model, CORE_ISSUED, ISSUED_RD, 5, action.rd);
        put(model, CORE_ISSUED, ISSUED_BASE, 5, action.base);
        put(model, CORE_ISSUED, ISSUED_MEMORY, 1, action.memory);
        put(model, CORE_ISSUED, ISSUED_STORE, 1, action.store);
        put(model, CORE_ISSUED, ISSUED_PRE, 1, action.pre);
        put(model, CORE_ISSUED, ISSUED_UPDATE, 1, action.update);
        put(model, CORE_ISSUED, ISSUED_SIZE, 2, unsigned(action.size));
        put(model, CORE_ISSUED, ISSUED_SIGNED, 1, action.is_signed);
        put(model, CORE_ISSUED, ISSUED_A, 32, issued_.a);
        put(model, CORE_ISSUED, ISSUED_B, 32, issued_.b);
        put(model, CORE_ISSUED, ISSUED_D, 32, issued_.d);
        put(model, CORE_ISSUED, ISSUED_HOLDS, 1, issued_.holds);
        put(model, CORE_ISSUED, ISSUED_PASSES, 1, issued_.passes);
        put(model, CORE_ISSUED, ISSUED_START, 1, issued_.start);
    }
};
