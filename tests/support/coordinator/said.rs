//! Answers as lines of a transcript, from any implementation.

use std::fmt::Write;

use tandem::groups::{Departure, Description, Fault, Joined, Listing};

use super::Answer;

const FAULTS: [Fault; 22] = [
    Fault::UnknownServerError,
    Fault::OffsetMetadataTooLarge,
    Fault::CoordinatorNotAvailable,
    Fault::IllegalGeneration,
    Fault::InconsistentGroupProtocol,
    Fault::InvalidGroupId,
    Fault::UnknownMemberId,
    Fault::InvalidSessionTimeout,
    Fault::RebalanceInProgress,
    Fault::NonEmptyGroup,
    Fault::GroupIdNotFound,
    Fault::MemberIdRequired,
    Fault::GroupMaxSizeReached,
    Fault::FencedInstanceId,
    Fault::UnsupportedVersion,
    Fault::InvalidConfig,
    Fault::InvalidRequest,
    Fault::FencedMemberEpoch,
    Fault::UnreleasedInstanceId,
    Fault::UnsupportedAssignor,
    Fault::StaleMemberEpoch,
    Fault::InvalidRegularExpression,
];

/// Kafka's name for an error code, and its number.
pub fn code(code: i16) -> String {
    if code == 0 {
        return "NONE".to_owned();
    }
    let Some(fault) = FAULTS.into_iter().find(|fault| fault.code() == code) else {
        return format!("ERROR({code})");
    };
    let mut name = String::new();
    for letter in format!("{fault:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    format!("{name}({code})")
}

pub fn joined(client: &str, member_id: &str, outcome: Result<&Joined, i16>) -> Answer {
    let joined = match outcome {
        Err(refusal) => {
            let line = format!("{client} join {} member={member_id:?}", code(refusal));
            return Answer { line, member_id: Some(member_id.to_owned()), generation: None };
        }
        Ok(joined) => joined,
    };
    let mut line = format!(
        "{client} joined generation={} member={member_id} leader={} protocol={}",
        joined.generation,
        joined.leader,
        joined.protocol.as_deref().unwrap_or_default(),
    );
    if !joined.members.is_empty() {
        let each = joined.members.iter().map(|member| {
            let instance = member.instance_id.as_ref().map(|i| format!("/{i}"));
            let metadata = String::from_utf8_lossy(&member.metadata);
            format!("{}{}={metadata}", member.member_id, instance.unwrap_or_default())
        });
        let mut members: Vec<_> = each.collect();
        members.sort();
        write!(line, " members=[{}]", members.join(", ")).unwrap();
    }
    if joined.skip_assignment {
        line.push_str(" skip_assignment");
    }
    Answer { line, member_id: Some(member_id.to_owned()), generation: Some(joined.generation) }
}

pub fn synced(client: &str, outcome: Result<&[u8], i16>) -> Answer {
    plain(match outcome {
        Err(refusal) => format!("{client} sync {}", code(refusal)),
        Ok(share) => format!("{client} synced share={:?}", String::from_utf8_lossy(share)),
    })
}

/// One line a member, or one for the refusal of them all.
pub fn left(client: &str, outcome: Result<&[(Departure, i16)], i16>) -> Answer {
    let line = match outcome {
        Err(refusal) => format!("{client} leave {}", code(refusal)),
        Ok(departed) => {
            let each = departed.iter().map(|(who, outcome)| {
                let instance = who.instance_id.as_ref().map(|i| format!("/{i}"));
                let who = format!("{}{}", who.member_id, instance.unwrap_or_default());
                format!("{client} leave {who:?} {}", code(*outcome))
            });
            each.collect::<Vec<_>>().join("\n")
        }
    };
    plain(line)
}

/// One outcome a position, or the same for all.
pub fn committed(client: &str, outcomes: &[i16]) -> Answer {
    let each: Vec<_> = outcomes.iter().copied().map(code).collect();
    plain(format!("{client} commit {}", each.join(", ")))
}

pub fn fetched(client: &str, offset: Option<i64>) -> Answer {
    let offset = offset.map_or_else(|| "none".to_owned(), |offset| offset.to_string());
    plain(format!("{client} fetch {offset}"))
}

/// A heartbeat, a deletion.
pub fn done(client: &str, what: &str, outcome: i16) -> Answer {
    plain(format!("{client} {what} {}", code(outcome)))
}

pub fn described(client: &str, description: Option<&Description>) -> Answer {
    let Some(description) = description else { return plain(format!("{client} describe Dead")) };
    let mut line = format!(
        "{client} describe {} type={:?} protocol={:?}",
        description.state, description.protocol_type, description.protocol
    );
    let share = |share: &[u8]| String::from_utf8_lossy(share).into_owned();
    let each = description.members.iter();
    let mut members: Vec<_> =
        each.map(|m| format!(" {}={:?}", m.member_id, share(&m.assignment))).collect();
    members.sort();
    line.extend(members);
    plain(line)
}

pub fn listed(client: &str, list: &[Listing]) -> Answer {
    let each = list.iter().map(|line| {
        let kind = if line.state.kind() == "classic" { "" } else { " type=consumer" };
        format!("{client} list {} {} {:?}{kind}", line.group, line.state, line.protocol_type)
    });
    let mut lines: Vec<_> = each.collect();
    lines.sort();
    plain(if lines.is_empty() { format!("{client} list nothing") } else { lines.join("\n") })
}

fn plain(line: String) -> Answer {
    Answer { line, ..Answer::default() }
}
