#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <vector>

namespace icecore {

/// A slice of an ice core between two depths, oldest ice at the bottom.
struct Slice {
	double top_m = 0.0;
	double bottom_m = 0.0;
	double dust_ppb = 0.0;
	std::optional<int> year;

	double thickness_m() const { return bottom_m - top_m; }
};

enum class Season { summer, winter, unknown };

inline Season season_of(const Slice& slice, double mean_dust_ppb) {
	if (slice.thickness_m() <= 0.0) {
		return Season::unknown;
	}
	if (slice.dust_ppb > 1.5 * mean_dust_ppb) {
		return Season::winter;
	} else {
		return Season::summer;
	}
}

/// Count years downwards from a slice whose year is known; each winter begins an older one.
inline std::size_t date_slices(std::vector<Slice>& slices, std::size_t known, double mean_dust_ppb) {
	if (known >= slices.size() || !slices[known].year) {
		return 0;
	}
	int year = *slices[known].year;
	std::size_t dated = 0;
	for (std::size_t i = known + 1; i < slices.size(); ++i) {
		if (season_of(slices[i], mean_dust_ppb) == Season::winter) {
			--year;
		}
		slices[i].year = year;
		++dated;
	}
	return dated;
}

inline std::ostream& operator<<(std::ostream& out, const Slice& slice) {
	out << slice.top_m << " m to " << slice.bottom_m << " m: " << slice.dust_ppb << " ppb";
	if (slice.year) {
		out << ", " << *slice.year;
	}
	return out;
}

}  // namespace icecore
