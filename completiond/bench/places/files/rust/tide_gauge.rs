use std::str::FromStr;

const DATUM_CM: i32 = 412;

/// One line of the gauge's log: `2031-03-05T06:10 +187 ok`.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    pub at: String,
    pub centimetres: i32,
    pub trusted: bool,
}

impl FromStr for Level {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let mut parts = line.split_whitespace();
        let at = parts.next().ok_or("no time")?.to_string();
        let centimetres = parts
            .next()
            .ok_or("no level")?
            .parse::<i32>()
            .map_err(|error| format!("level of {at}: {error}"))?;
        let trusted = parts.next() == Some("ok");
        Ok(Level { at, centimetres, trusted })
    }
}

pub fn high_waters(levels: &[Level]) -> Vec<&Level> {
    levels
        .windows(3)
        .filter(|three| three.iter().all(|level| level.trusted))
        .filter(|three| three[0].centimetres < three[1].centimetres && three[1].centimetres >= three[2].centimetres)
        .map(|three| &three[1])
        .collect()
}

pub fn above_datum_m(level: &Level) -> f64 {
    f64::from(level.centimetres - DATUM_CM) / 100.0
}
