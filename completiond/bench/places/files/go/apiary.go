// Package apiary keeps the records of bee hives: inspections, mites, and which hive needs a visit.
package apiary

import (
	"errors"
	"fmt"
	"sort"
	"time"
)

// ErrNoQueen is returned where a hive has to have a queen and has none.
var ErrNoQueen = errors.New("apiary: hive has no queen")

// Inspection is what the beekeeper saw with the lid off.
type Inspection struct {
	Day         time.Time
	BroodFrames int
	HoneyFrames int
	QueenSeen   bool
	MiteDrop    float64 // mites per day on the bottom board
}

// Hive is one colony and its history, oldest inspection first.
type Hive struct {
	Name        string
	Stand       string
	Inspections []Inspection
}

// Last returns the newest inspection, or false if there was none yet.
func (h *Hive) Last() (Inspection, bool) {
	if len(h.Inspections) == 0 {
		return Inspection{}, false
	}
	return h.Inspections[len(h.Inspections)-1], true
}

// Inspect adds an inspection; it has to be newer than the last one.
func (h *Hive) Inspect(seen Inspection) error {
	if last, ok := h.Last(); ok && !seen.Day.After(last.Day) {
		return fmt.Errorf("apiary: inspection of %s on %s is not newer than the last one", h.Name, seen.Day.Format("2006-01-02"))
	}
	h.Inspections = append(h.Inspections, seen)
	return nil
}

// Split moves half of the brood into a new hive beside it.
func (h *Hive) Split(name string, day time.Time) (*Hive, error) {
	last, ok := h.Last()
	if !ok || !last.QueenSeen {
		return nil, ErrNoQueen
	}
	moved := last.BroodFrames / 2
	child := &Hive{Name: name, Stand: h.Stand}
	child.Inspections = []Inspection{{Day: day, BroodFrames: moved}}
	last.BroodFrames -= moved
	last.Day = day
	h.Inspections = append(h.Inspections, last)
	return child, nil
}

// Urgent lists hives with more than limit mites a day, the worst first.
func Urgent(hives []*Hive, limit float64) []*Hive {
	var urgent []*Hive
	for _, hive := range hives {
		if last, ok := hive.Last(); ok && last.MiteDrop > limit {
			urgent = append(urgent, hive)
		}
	}
	sort.Slice(urgent, func(i, j int) bool {
		a, _ := urgent[i].Last()
		b, _ := urgent[j].Last()
		return a.MiteDrop > b.MiteDrop
	})
	return urgent
}
