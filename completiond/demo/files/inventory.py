"""A small inventory: the sample that `completiond demo` completes."""

import json
from dataclasses import dataclass


@dataclass
class Item:
    name: str
    quantity: int
    unit_price: float

    def total_price(self) -> float:
        """Price of all units together."""
        return self.quantity * self.unit_price


def load_items(path: str) -> list[Item]:
    """Read items from a JSON file."""
    with open(path, encoding="utf-8") as handle:
        return [Item(**entry) for entry in json.load(handle)]


def save_items(path: str, items: list[Item]) -> None:
    """Write items to a JSON file."""
    with open(path, "w", encoding="utf-8") as handle:
        json.dump([item.__dict__ for item in items], handle)


def most_expensive(items: list[Item]) -> Item:
    """The item with the highest total price."""
    return max(items, key=lambda item: item.total_price())


def restock(stock: dict[str, int], name: str, quantity: int) -> None:
    """Add a quantity to the stock of an item."""
    if name not in stock:
        raise KeyError(f"no item called {name}")
    stock[name] += quantity
    print(f"{name}: {stock[name]} in stock")


def withdraw(stock: dict[str, int], name: str, quantity: int) -> None:
    """Take a quantity from the stock of an item."""
    if name not in stock:
        raise KeyError(f"no item called {name}")
    stock[name] -= quantity
    print(f"{name}: {stock[name]} in stock")
