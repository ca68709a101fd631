// A pipe organ's stop action: which pipes speak for the keys that are down and the stops that are drawn.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace organ {

struct Pipe {
    int midi_note;
    double length_feet;
    bool reed;
};

class Rank {
public:
    Rank(std::string name, double feet, bool reed) : name_(std::move(name)), feet_(feet), reed_(reed) {}

    const std::string& name() const { return name_; }

    // The pitch of an 8 foot rank is the key's own; half the length is an octave higher.
    Pipe pipe_for(int key) const {
        const int octaves = static_cast<int>(std::lround(std::log2(8.0 / feet_)));
        const double length = feet_ * std::pow(2.0, (36 - key) / 12.0);
        return Pipe{key + 12 * octaves, length, reed_};
    }

private:
    std::string name_;
    double feet_;
    bool reed_;
};

class Manual {
public:
    void add(Rank rank) {
        const std::string name = rank.name();
        if (ranks_.count(name) > 0) {
            throw std::invalid_argument("the manual has a stop " + name + " already");
        }
        ranks_.emplace(name, std::move(rank));
    }

    void draw(const std::string& name) {
        if (ranks_.find(name) == ranks_.end()) {
            throw std::out_of_range("no stop " + name);
        }
        drawn_.insert(name);
    }

    void press(int key) { keys_.insert(key); }

    void release(int key) { keys_.erase(key); }

    std::vector<Pipe> speaking() const {
        std::vector<Pipe> pipes;
        for (const auto& name : drawn_) {
            for (int key : keys_) {
                pipes.push_back(ranks_.at(name).pipe_for(key));
            }
        }
        std::sort(pipes.begin(), pipes.end(), [](const Pipe& a, const Pipe& b) { return a.midi_note < b.midi_note; });
        return pipes;
    }

private:
    std::map<std::string, Rank> ranks_;
    std::set<std::string> drawn_;
    std::set<int> keys_;
};

}  // namespace organ
