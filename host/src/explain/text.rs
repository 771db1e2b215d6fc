use std::fmt;

use super::Explanation;

/// For people: the answer in a line, where it stands, and every reason with its object and its rule.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        writeln!(f, "{}: {}", if self.present { "PRESENT" } else { "ABSENT" }, self.summary)?;
        for place in &self.places {
            writeln!(f, "  {} in {}", place.name, place.file)?;
        }
        for reason in &self.because {
            match &reason.object {
                Some(object) => writeln!(f, "\n{object}  [{}]", reason.rule)?,
                None => writeln!(f, "\n[{}]", reason.rule)?,
            }
            writeln!(f, "  {}", reason.text)?;
        }
        Ok(())
    }
}
