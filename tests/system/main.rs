//! Runs, suites and what is kept up, as a user starts them, and what goes wrong beside them.

mod blocking_disk;
mod documented;
mod duty;
mod examples;
mod exec;
mod foreign;
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
mod scheduler_postgres;
mod strangers;
mod suite;
mod suspend;
mod up;
mod up_report;
