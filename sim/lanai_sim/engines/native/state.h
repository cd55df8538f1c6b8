// The whole state of units and wires as bytes, and back. `pass` is written once for both ways.
#pragma once
#include "library.h"

constexpr size_t ZERO_BLOCK = 64;  // bytes; a run of zeros that is left out is one such block or more

// Bytes in order, kept in memory. Most of a NIC's SRAM is zeros, so runs of zeros are left out. Pairs of lengths are
// kept: how many zeros come next, and how many bytes after them. These bytes follow.
class StateWriter {
  public:
    List<uint8_t> bytes;

    void bytes_of(const void* from, size_t size) {
        waiting_.append(static_cast<const uint8_t*>(from), size);
        if (waiting_.size() > MOST) flush();
    }

    void flush() {
        const uint8_t *at = waiting_.begin(), *end = waiting_.end();
        while (at < end) {
            const uint8_t* from = run(at, end, true);
            const uint8_t* to = run(from, end, false);
            const uint32_t lengths[] = {uint32_t(from - at), uint32_t(to - from)};
            bytes.append(reinterpret_cast<const uint8_t*>(lengths), sizeof lengths);
            bytes.append(from, size_t(to - from));
            at = to;
        }
        waiting_.clear();
    }

  private:
    static constexpr size_t MOST = 1 << 20;
    List<uint8_t> waiting_;

    // The end of the blocks from `at` on that are zeros, or are not.
    static const uint8_t* run(const uint8_t* at, const uint8_t* end, bool zeros) {
        while (at < end) {
            const size_t size = smaller(ZERO_BLOCK, size_t(end - at));
            const bool is_zero = !at[0] && !memcmp(at, at + 1, size - 1);
            if (is_zero != zeros) break;
            at += size;
        }
        return at;
    }
};

// The bytes of a StateWriter. Beyond their end it reads zeros, and `exact` is then false.
class StateReader {
  public:
    StateReader(const uint8_t* bytes, size_t size) : at_(bytes), end_(bytes + size) {}

    // All was read, and no more.
    bool exact() const { return !overrun_ && !zeros_ && !kept_ && at_ == end_; }

    void bytes_of(void* into, size_t size) {
        auto* to = static_cast<uint8_t*>(into);
        while (size && (zeros_ || kept_ || begin_run())) {
            const uint32_t some = uint32_t(smaller<size_t>(zeros_ ? zeros_ : kept_, size));
            if (zeros_) {
                memset(to, 0, some);
                zeros_ -= some;
            } else {
                memcpy(to, at_, some);
                at_ += some;
                kept_ -= some;
            }
            to += some;
            size -= some;
        }
        overrun_ |= size != 0;
        memset(to, 0, size);
    }

  private:
    const uint8_t *at_, *end_;
    uint32_t zeros_ = 0, kept_ = 0;  // left of the run
    bool overrun_ = false;

    bool begin_run() {
        uint32_t lengths[2];
        if (size_t(end_ - at_) < sizeof lengths) return false;
        memcpy(lengths, at_, sizeof lengths);
        at_ += sizeof lengths;
        zeros_ = lengths[0];
        kept_ = uint32_t(smaller<size_t>(lengths[1], size_t(end_ - at_)));
        overrun_ |= kept_ < lengths[1];
        return zeros_ || kept_;
    }
};

template <class Direction, class Value>
void pass(Direction& way, Value& value) {
    static_assert(__is_trivially_copyable(Value), "a value that is its bytes");
    way.bytes_of(&value, sizeof value);
}
template <class Direction, class Value>
void pass(Direction& way, List<Value>& values) {  // of a length that both ends know
    static_assert(__is_trivially_copyable(Value), "values that are their bytes");
    way.bytes_of(values.data(), values.size() * sizeof(Value));
}
template <class Direction, class Value>
void pass(Direction& way, Shared<Value>& shared) {
    Value value = shared.load();
    pass(way, value);
    shared.store(value);
}
