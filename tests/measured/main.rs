//! What is measured: one run at a time, for another would disturb it.

mod churn;
mod clocks;
mod cluster;
mod disturbed_live;
mod duplicates;
mod duty;
mod etcd;
mod exclusive;
mod external;
mod fast;
mod hosts;
mod isolation;
mod leaves;
mod metrics;
mod outages;
mod own_membership;
mod planted_live;
mod readme;
mod silence;
mod stand_in;
mod until;
