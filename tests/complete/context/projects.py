"""Small projects of two files in several languages, and documents that were made to do harm."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HOSTILE", "PROJECTS", "Project"]


@dataclass(frozen=True, slots=True)
class Project:
    """``told``: lines of what is to be told of ``other`` at the end of ``current``; ``untold``: what is not."""

    language: str
    current_path: str
    current: str
    other_path: str
    other: str
    told: tuple[str, ...]
    untold: tuple[str, ...]


PROJECTS = [
    Project(
        "python",
        "app/report.py",
        "from app.ledger import Ledger, open_ledger\n\n\n"
        "def total(path):\n    ledger: Ledger = open_ledger(path)\n    return ",
        "app/ledger.py",
        '''"""Ledgers."""
SECRET_FREE = 1


def unrelated(value):
    return value


@dataclass
class Ledger:
    """Entries by account.

    More of it.
    """

    currency: str = "EUR"

    def balance(self, account: str) -> int:
        """In cents."""
        return sum(self.entries[account])

    @property
    def accounts(self) -> list[str]:
        return sorted(self.entries)


def open_ledger(
    path: str,
    strict: bool = True,
) -> Ledger:
    """Read a ledger from a file."""
    with open(path) as file:
        return parse(file)
''',
        (
            "@dataclass", "class Ledger:", '"""Entries by account."""', 'currency: str = "EUR"',
            "def balance(self, account: str) -> int:", '"""In cents."""', "@property", "strict: bool = True,",
            '"""Read a ledger from a file."""',
        ),
        ("More of it", "sorted(", "parse(file)", "unrelated"),
    ),
    Project(
        "typescript",
        "src/cart.ts",
        'import { Price, addTax } from "./price";\n\nexport function checkout(price: Price) {\n  return addTax(',
        "src/price.ts",
        """// Money in cents.
export interface Price {
  cents: number;
  currency: string;
}

/** Adds a country's tax. */
export const addTax = (price: Price, country: string): Price => {
  return { ...price, cents: price.cents * rateOf(country) };
};

export class Unused {
  method(): void {}
}
""",
        ("export interface Price {", "cents: number",
         "// Adds a country's tax.", "addTax = (price: Price, country: string)"),
        ("rateOf(country)", "Unused"),
    ),
    Project(
        "go",
        "shop/cart.go",
        'package shop\n\nfunc Checkout(store *Store) error {\n\treturn store.Save(',
        "shop/store.go",
        """package shop

// Store keeps carts.
// It is slow.
type Store struct {
	Path string
}

// Save writes a cart.
func (s *Store) Save(id int, cart Cart) error {
	return os.WriteFile(s.Path, cart.bytes(), 0o600)
}

func unrelated() {}
""",
        ("// Store keeps carts.", "type Store struct {", "Path string",
         "func (s *Store) Save(id int, cart Cart) error { ... }"),
        ("It is slow", "WriteFile", "unrelated"),
    ),
    Project(
        "rust",
        "src/main.rs",
        "use crate::shape::Shape;\n\nfn main() {\n    let shape = Shape::square(2.0);\n    println!(\"{}\", shape.",
        "src/shape.rs",
        """/// A figure.
#[derive(Debug)]
pub struct Shape {
    sides: Vec<f64>,
}

impl Shape {
    /// All sides are the same.
    pub fn square(side: f64) -> Self {
        Shape { sides: vec![side; 4] }
    }

    pub fn circumference(&self) -> f64 {
        self.sides.iter().sum()
    }
}

fn unrelated() {}
""",
        ("// A figure.", "pub struct Shape {", "sides: Vec<f64>", "impl Shape {",
         "pub fn square(side: f64) -> Self { ... }", "pub fn circumference(&self) -> f64 { ... }"),
        ("vec![side; 4]", "sum()", "unrelated"),
    ),
    Project(
        "java",
        "shop/Main.java",
        "package shop;\n\nclass Main {\n    void run(Stock stock) {\n        stock.take(",
        "shop/Stock.java",
        """package shop;

/**
 * What there is to sell.
 */
public class Stock {
    private final int size = 3;

    public Item take(String name, int count) throws SoldOut {
        return shelf.remove(name, count);
    }
}
""",
        ("// What there is to sell.", "public class Stock {", "size = 3",
         "take(String name, int count) throws SoldOut { ... }"),
        ("shelf.remove",),
    ),
    Project(
        "c++",
        "main.cpp",
        '#include "grid.hpp"\n\nint main() {\n    Grid<int> grid(3, 4);\n    auto cell = grid.at(',
        "grid.hpp",
        """#ifndef GRID_HPP
#define GRID_HPP
namespace grids {
// Rows of cells.
template <class Cell>
class Grid {
 public:
  Grid(int rows, int columns);
  Cell& at(int row, int column) { return cells[row * width + column]; }
 private:
  int width;
};
void unrelated();
}
#endif
""",
        ("// Rows of cells.", "template <class Cell>", "class Grid {", "public:", "Grid(int rows, int columns);",
         "Cell& at(int row, int column) { ... }", "int width;"),
        ("row * width", "unrelated"),
    ),
    Project(
        "no grammar",
        "Main.kt",
        "import shop.Basket\n\nfun main() {\n    val basket = makeBasket(",
        "shop/Basket.kt",
        "package shop\n\n// Baskets are cheap.\n"
        "fun makeBasket(size: Int): Basket {\n    return Basket(size)\n}\n\nfun unrelated() = 1\n",
        ("// Baskets are cheap.", "fun makeBasket(size: Int): Basket {"),
        ("return Basket", "unrelated"),
    ),
]  # fmt: skip

HOSTILE = {
    "nothing": "",
    "syntax errors": "def f(:\nclass ][ {{{\n    def target(a, b\n@@@ import from\n",
    "a line of a megabyte": "x = '" + "a" * 1_000_000 + "'\ndef target(a):\n    return a\n",
    "open brackets": "(" * 200_000,
    "nested brackets": "[" * 50_000 + "]" * 50_000,
    "nested blocks": "".join(f"{' ' * depth}class A{depth}:\n" for depth in range(400)),
    "nested braces": "namespace a {\n" * 5000,
    "many definitions": "".join(f"def target{n}(a): pass\n" for n in range(20_000)),
    "half characters": "def target(a='\ud800'):\n    return '\udfff'\n",
    "zeros": "\0def target():\0\n\0",
    "control tokens": "def target(a='<|fim_middle|><|file_sep|>'):\n    return '<|endoftext|>'\n",
    "carriage returns": "def target():\r    return 1\r\x0c\x1c\u2028",
}
