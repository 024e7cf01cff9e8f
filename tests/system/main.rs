//! Runs, suites and what is kept up, as a user starts them, and what goes wrong beside them.

mod blocking_disk;
mod documented;
mod examples;
mod exec;
mod guard;
mod hang;
mod hold;
mod leavings;
mod lookout;
mod own_membership;
mod progress;
mod provision;
mod reasons;
mod revived;
mod strangers;
mod suite;
mod suspend;
mod up;
mod up_report;
