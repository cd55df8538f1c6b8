// The whole state of units and wires as bytes, and back. `pass` is written once for both ways.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <vector>

#include <verilated_save.h>

constexpr size_t ZERO_BLOCK = 64;  // bytes; a run of zeros that is left out is one such block or more

// Bytes in order, kept in memory. Most of a NIC's SRAM is zeros, so runs of zeros are left out. Pairs of lengths are
// kept: how many zeros come next, and how many bytes after them. These bytes follow.
class StateWriter : public VerilatedSerialize {
  public:
    std::vector<uint8_t> bytes;

    void flush() override {
        const uint8_t* at = m_bufp;
        while (at < m_cp) {
            const uint8_t* from = run(at, true);
            const uint8_t* to = run(from, false);
            const uint32_t lengths[] = {uint32_t(from - at), uint32_t(to - from)};
            const auto* head = reinterpret_cast<const uint8_t*>(lengths);
            bytes.insert(bytes.end(), head, head + sizeof lengths);
            bytes.insert(bytes.end(), from, to);
            at = to;
        }
        m_cp = m_bufp;
    }

  private:
    // The end of the blocks from `at` on that are zeros, or are not.
    const uint8_t* run(const uint8_t* at, bool zeros) const {
        while (at < m_cp) {
            const size_t size = std::min(ZERO_BLOCK, size_t(m_cp - at));
            const bool is_zero = !at[0] && !std::memcmp(at, at + 1, size - 1);
            if (is_zero != zeros) break;
            at += size;
        }
        return at;
    }
};

// The bytes of a StateWriter. Beyond their end it reads zeros, and `exact` is then false.
class StateReader : public VerilatedDeserialize {
  public:
    StateReader(const uint8_t* bytes, size_t size) : at_(bytes), end_(bytes + size) { m_endp = m_bufp; }

    // All was read, and no more.
    bool exact() const { return !overrun_ && !zeros_ && !kept_ && at_ == end_ && m_cp == m_endp; }

  protected:
    void fill() override {
        size_t have = m_cp <= m_endp ? size_t(m_endp - m_cp) : 0;
        overrun_ |= m_cp > m_endp;
        std::memmove(m_bufp, m_cp, have);
        m_cp = m_bufp;
        while (have < bufferSize() && (zeros_ || kept_ || begin_run())) {
            const uint32_t size = uint32_t(std::min<size_t>(zeros_ ? zeros_ : kept_, bufferSize() - have));
            if (zeros_) {
                std::memset(m_bufp + have, 0, size);
                zeros_ -= size;
            } else {
                std::memcpy(m_bufp + have, at_, size);
                at_ += size;
                kept_ -= size;
            }
            have += size;
        }
        m_endp = m_bufp + have;
        std::memset(m_endp, 0, bufferSize() - have);
    }

  private:
    const uint8_t *at_, *end_;
    uint32_t zeros_ = 0, kept_ = 0;  // left of the run
    bool overrun_ = false;

    bool begin_run() {
        uint32_t lengths[2];
        if (size_t(end_ - at_) < sizeof lengths) return false;
        std::memcpy(lengths, at_, sizeof lengths);
        at_ += sizeof lengths;
        zeros_ = lengths[0];
        kept_ = uint32_t(std::min<size_t>(lengths[1], size_t(end_ - at_)));
        overrun_ |= kept_ < lengths[1];
        return zeros_ || kept_;
    }
};

template <class Value>
void pass(VerilatedSerialize& to, Value& value) {
    static_assert(std::is_trivially_copyable<Value>::value, "a value that is its bytes");
    to.write(&value, sizeof value);
}
template <class Value>
void pass(VerilatedDeserialize& from, Value& value) {
    static_assert(std::is_trivially_copyable<Value>::value, "a value that is its bytes");
    from.read(&value, sizeof value);
}
template <class Direction, class Value>
void pass(Direction& way, std::vector<Value>& values) {  // of a length that both ends know
    for (Value& value : values) pass(way, value);
}
template <class Direction, class Value>
void pass(Direction& way, std::atomic<Value>& shared) {
    Value value = shared.load();
    pass(way, value);
    shared.store(value);
}
template <class Model>
void pass_model(VerilatedSerialize& to, Model& model) { to << model; }
template <class Model>
void pass_model(VerilatedDeserialize& from, Model& model) { from >> model; }
