"""Which vehicle goes into which lane of a car ferry, so that the deck stays level."""

from collections.abc import Iterable

LANE_LENGTH_M = 42.0
GAP_M = 0.4


class Vehicle:
	def __init__(self, plate: str, length_m: float, weight_t: float) -> None:
		self.plate = plate
		self.length_m = length_m
		self.weight_t = weight_t

	def __repr__(self) -> str:
		return f"Vehicle({self.plate!r}, {self.length_m} m, {self.weight_t} t)"


class Lane:
	"""One row of vehicles, bow to stern. ``side`` is -1 for port and 1 for starboard."""

	def __init__(self, number: int, side: int) -> None:
		self.number = number
		self.side = side
		self.vehicles: list[Vehicle] = []

	def used_m(self) -> float:
		return sum(vehicle.length_m + GAP_M for vehicle in self.vehicles)

	def fits(self, vehicle: Vehicle) -> bool:
		return self.used_m() + vehicle.length_m <= LANE_LENGTH_M

	def weight_t(self) -> float:
		return sum(vehicle.weight_t for vehicle in self.vehicles)


def moment(lanes: Iterable[Lane]) -> float:
	"""Above zero the ship leans to starboard."""
	return sum(lane.side * lane.weight_t() for lane in lanes)


def load(lanes: list[Lane], queue: list[Vehicle]) -> list[Vehicle]:
	"""Drive the queue aboard, heaviest first, and return those that stay ashore."""
	ashore = []
	for vehicle in sorted(queue, key=lambda one: one.weight_t, reverse=True):
		free = [lane for lane in lanes if lane.fits(vehicle)]
		if not free:
			ashore.append(vehicle)
			continue
		lean = moment(lanes)
		best = min(free, key=lambda lane: abs(lean + lane.side * vehicle.weight_t))
		best.vehicles.append(vehicle)
	return ashore
