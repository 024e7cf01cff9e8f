//! The program of README: it leads a role, on the broker of `tandem broker` or another one.
//!
//! ```sh
//! cargo run --example leads -- 127.0.0.1:9092
//! ```

use std::time::Duration;
use tandem_member::Member;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let brokers = std::env::args().nth(1).unwrap_or("127.0.0.1:9092".to_owned());
    let member = Member::builder(brokers, "pricing")
        .create_ledger(4_u32.try_into()?)
        .roles(["eurusd", "usdjpy"])
        .exclusive(Duration::from_millis(300))
        .join()?;
    let eurusd = member.role("eurusd").ok_or("no such role")?;
    loop {
        // Drops the work 100 ms before the claim ends, and waits for the next one.
        let stop = Duration::from_millis(100);
        let ended = member.while_leading(eurusd, stop, async |lead| {
            while let Some(claim) = lead.claim() {
                println!("leads, with fence {:?}", claim.fence);
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        ended.await.ok();
    }
}
