//! A windowed maximum.

/// The maximum over the last rounds, in three samples (Nichols' windowed filter).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MaxFilter {
    best: [(u64, u64); 3],
}

impl MaxFilter {
    pub(super) fn get(&self) -> u64 {
        self.best[0].1
    }

    pub(super) fn update(&mut self, window: u64, time: u64, value: u64) {
        let sample = (time, value);
        if value >= self.best[0].1 || time - self.best[2].0 > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        if time - self.best[0].0 > window {
            self.best = [self.best[1], self.best[2], sample];
            if time - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && time - self.best[1].0 > window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && time - self.best[2].0 > window / 2 {
            self.best[2] = sample;
        }
    }
}
