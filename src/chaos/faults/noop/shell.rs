//! Does nothing, and records that in the journal.

use futures_util::future::LocalBoxFuture;

use crate::chaos::arena::FaultError;
use crate::chaos::{Case, Injection};
use crate::time::Mono;

pub(super) struct Shell;

impl Injection for Shell {
    fn inject<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>> {
        Box::pin(async move {
            case.asked(None);
            Ok(case.in_force(None))
        })
    }

    fn heal<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>> {
        Box::pin(async move {
            case.healed(None);
            Ok(())
        })
    }
}
