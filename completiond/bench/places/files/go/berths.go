package harbour

import (
	"encoding/json"
	"log"
	"net/http"
	"sync"
)

type Berth struct {
	Number int     `json:"number"`
	Depth  float64 `json:"depth_m"`
	Length float64 `json:"length_m"`
	Yacht  string  `json:"yacht,omitempty"`
}

type Office struct {
	mu     sync.Mutex
	berths []Berth
}

// Assign gives a yacht the smallest free berth that it fits into.
func (o *Office) Assign(yacht string, draught, length float64) (int, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	best := -1
	for i, berth := range o.berths {
		if berth.Yacht != "" || berth.Depth < draught || berth.Length < length {
			continue
		}
		if best < 0 || berth.Length < o.berths[best].Length {
			best = i
		}
	}
	if best < 0 {
		return 0, false
	}
	o.berths[best].Yacht = yacht
	return o.berths[best].Number, true
}

// ServeHTTP lists the berths, or only the free ones for ?free=1.
func (o *Office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	listed := make([]Berth, 0, len(o.berths))
	if r.URL.Query().Get("free") == "1" {
		for _, berth := range o.berths {
			if berth.Yacht == "" {
				listed = append(listed, berth)
			}
		}
	} else {
		listed = append(listed, o.berths...)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(listed); err != nil {
		log.Printf("berths: %v", err)
	}
}
