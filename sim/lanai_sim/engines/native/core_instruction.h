// Instructions of the Lanai, decoded as lanai_hdl.core.decode does.
#pragma once
#include <stdint.h>

enum class CoreUnit : uint8_t { ALU, SHIFT, COUNT, SELECT, TEST };
enum class CoreSize : uint8_t { BYTE, HALF, WORD };
constexpr uint32_t CORE_PC = 2;      // the register
constexpr uint32_t CORE_SHIFT = 7, CORE_OR = 5, CORE_AND = 4;  // of `op`

// `Action` of the gateware, and the operands that the instruction names.
struct CoreAction {
    bool defined = true, arithmetic = false, guarded = false, flags = false, clear_carry = false;
    bool memory = false, store = false, pre = false, update = false, is_signed = false;
    CoreUnit unit = CoreUnit::ALU;
    CoreSize size = CoreSize::WORD;
    uint8_t op = 0, function = 0, cond = 0, rd = 0, base = 0;
    bool zero = false, constant = false;  // 0 in place of a, `immediate` in place of b
    uint8_t rs2 = 0, rs3 = 0;
    uint32_t immediate = 0;

    bool logic() const { return op & 4; }
    // It takes a slot more, in which an address is shifted.
    bool slow() const { return memory && unit == CoreUnit::SHIFT; }
    bool plain() const { return defined && !slow(); }
    bool loads_pc() const { return memory && !store && rd == CORE_PC; }
};

class CoreDecoder {
  public:
    static CoreAction decode(uint32_t word) {
        CoreDecoder it(word);
        if (!(word >> 31)) it.immediate_form();
        else if (word >> 29 == 4) it.word_form();
        else if (word >> 29 == 5) it.indexed_form();
        else if (word >> 28 == 12) it.register_form();
        else if (word >> 28 == 13) it.count_form();
        else if (word >> 28 == 14) it.branch_form();
        else it.short_form();
        return it.action_;
    }

  private:
    CoreAction action_;
    uint32_t word_;

    explicit CoreDecoder(uint32_t word) : word_(word) {
        action_.rd = action_.rs3 = uint8_t(bits(27, 23));
        action_.base = uint8_t(bits(22, 18));
        action_.rs2 = uint8_t(bits(15, 11));
    }

    uint32_t bits(unsigned high, unsigned low) const { return word_ >> low & ((2u << (high - low)) - 1); }
    uint32_t wide() const { return bits(22, 18) << 16 | bits(15, 0); }
    void constant(uint32_t value, bool zero = false) {
        action_.immediate = value;
        action_.constant = true;
        action_.zero = zero;
    }
    void access(bool store, bool pre, bool update) {
        action_.memory = true;
        action_.store = store;
        action_.pre = pre;
        action_.update = update;
        if (update && action_.base == CORE_PC) action_.defined = false;
    }

    void immediate_form() {  // RI
        uint32_t op = bits(30, 28), high = bits(16, 16), value = bits(15, 0);
        action_.op = uint8_t(op);
        action_.flags = bits(17, 17);
        action_.clear_carry = true;
        if (op == CORE_SHIFT) {
            action_.unit = CoreUnit::SHIFT;
            action_.arithmetic = high;
            constant(uint32_t(int32_t(int16_t(value))));
        } else {
            uint32_t fill = op == CORE_AND ? 0xFFFF : 0;
            constant(high ? value << 16 | fill : fill << 16 | value);
        }
    }

    void word_form() {  // RM
        access(bits(28, 28), bits(17, 17), bits(16, 16));
        constant(uint32_t(int32_t(int16_t(word_))));
    }

    void indexed_form() {  // RRM
        uint32_t special = bits(7, 3), how = bits(2, 0);
        access(bits(28, 28), bits(17, 17), bits(16, 16));
        action_.op = uint8_t(bits(10, 8));
        action_.arithmetic = special == 0x18;
        action_.is_signed = how == 0 || how == 4;
        if (how < 2) action_.size = CoreSize::HALF;
        if (how == 4 || how == 5) action_.size = CoreSize::BYTE;
        if (action_.op == CORE_SHIFT) {
            action_.unit = CoreUnit::SHIFT;
            if ((special != 0x10 && special != 0x18) || how != 2) action_.defined = false;
        } else if (special) {
            action_.defined = false;
        }
        if (how == 3 || how > 5 || (action_.store && how % 4 == 1)) action_.defined = false;
    }

    void register_form() {  // RR
        uint32_t special = bits(7, 3);
        action_.op = uint8_t(bits(10, 8));
        action_.flags = bits(17, 17);
        action_.cond = uint8_t(bits(2, 0) << 1 | bits(16, 16));
        action_.guarded = true;
        action_.arithmetic = special == 0x18;
        if (action_.op != CORE_SHIFT) {
            action_.defined = !special;
        } else if (special) {
            action_.unit = CoreUnit::SHIFT;
            action_.defined = special == 0x10 || special == 0x18;
        } else {
            action_.unit = CoreUnit::SELECT;
            action_.guarded = false;
            action_.defined = !action_.flags;
        }
    }

    void count_form() {  // SPECIAL
        uint32_t function = bits(2, 0);
        action_.unit = CoreUnit::COUNT;
        action_.function = uint8_t(function & 3);
        action_.defined = !(word_ & 0x0003FFF8) && function >= 1 && function <= 3;
    }

    void branch_form() {  // BR, SCC, BRR
        action_.cond = uint8_t(bits(27, 25) << 1 | bits(0, 0));
        if (!(word_ & 2)) {
            action_.op = CORE_OR;
            constant(word_ & 0x01FFFFFC, true);
        } else if ((word_ & 0x0183FFFE) == 2) {
            action_.unit = CoreUnit::TEST;
            action_.rd = uint8_t(bits(22, 18));
            return;
        } else if ((word_ & 0x01830002) == 0x01000002) {
            constant(uint32_t(int32_t(int16_t(word_ & 0xFFFC))));
        } else {
            action_.defined = false;
        }
        action_.guarded = true;
        action_.rd = CORE_PC;
    }

    void short_form() {  // SLS, SLI, SPLS
        if (!bits(17, 17)) {
            access(bits(16, 16), true, false);
            constant(wide() & ~3u, true);
        } else if (!bits(16, 16)) {
            action_.op = CORE_OR;
            constant(wide(), true);
        } else {
            access(bits(13, 13), bits(11, 11), bits(10, 10));
            constant(uint32_t(int32_t(word_ << 22) >> 22));
            action_.size = bits(14, 14) ? CoreSize::BYTE : CoreSize::HALF;
            action_.is_signed = !bits(12, 12);
            if (bits(15, 15) || (action_.store && bits(12, 12))) action_.defined = false;
        }
    }
};

// Instructions that were decoded, by the lower bits of their address. An instruction is known by its word, so nothing
// is lost if the word at an address changes.
class CoreDecoded {
  public:
    const CoreAction& at(uint32_t pc, uint32_t word) {
        Entry& entry = entries_[pc / 4 % COUNT];
        if (entry.inverse != ~word) decode(entry, word);
        return entry.action;
    }

  private:
    static constexpr uint32_t COUNT = 1024;
    struct Entry {
        uint32_t inverse = 0;       // of the word: a word of ones is not defined
        CoreAction action{false};
    };
    Entry entries_[COUNT];

    __attribute__((noinline)) static void decode(Entry& entry, uint32_t word) {
        entry = {~word, CoreDecoder::decode(word)};
    }
};
