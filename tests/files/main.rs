//! What commands read and print: files, pages, help. Nothing is started that stays.

mod anywhere;
mod compare;
mod deploy;
mod dry_run;
mod files;
mod help;
mod junit;
mod observability;
mod results;
mod room;
mod schema;
mod tidy;
mod tidy_chance;
mod tidy_ratchet;
