//! Weaving drafts: which warp threads each treadle lifts, and the cloth that comes of it.

use std::collections::BTreeMap;
use std::fmt;

/// A loom with up to 32 shafts, as a bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shafts(pub u32);

impl Shafts {
    pub fn lifts(self, shaft: u8) -> bool {
        self.0 & (1 << shaft) != 0
    }
}

#[derive(Debug)]
pub enum DraftError {
    UnknownTreadle { pick: usize, treadle: u8 },
    EmptyThreading,
}

impl fmt::Display for DraftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DraftError::UnknownTreadle { pick, treadle } => {
                write!(f, "pick {pick} uses treadle {treadle}, which is not tied up")
            }
            DraftError::EmptyThreading => write!(f, "no warp thread is drawn in"),
        }
    }
}

impl std::error::Error for DraftError {}

/// `threading` has the shaft of each warp thread, `treadling` the treadle of each pick.
pub struct Draft {
    pub threading: Vec<u8>,
    pub tie_up: BTreeMap<u8, Shafts>,
    pub treadling: Vec<u8>,
}

impl Draft {
    /// Row by row, whether the warp is on top.
    pub fn cloth(&self) -> Result<Vec<Vec<bool>>, DraftError> {
        if self.threading.is_empty() {
            return Err(DraftError::EmptyThreading);
        }
        let mut rows = Vec::with_capacity(self.treadling.len());
        for (pick, treadle) in self.treadling.iter().enumerate() {
            let Some(shafts) = self.tie_up.get(treadle) else {
                return Err(DraftError::UnknownTreadle { pick, treadle: *treadle });
            };
            rows.push(self.threading.iter().map(|shaft| shafts.lifts(*shaft)).collect());
        }
        Ok(rows)
    }

    /// The longest run of picks over which some warp thread is not bound.
    pub fn longest_float(&self) -> Result<usize, DraftError> {
        let cloth = self.cloth()?;
        let mut longest = 0;
        for thread in 0..self.threading.len() {
            let mut run = 0;
            let mut last = None;
            for row in &cloth {
                if last == Some(row[thread]) {
                    run += 1;
                } else {
                    run = 1;
                }
                last = Some(row[thread]);
                longest = longest.max(run);
            }
        }
        Ok(longest)
    }
}
