//! timeline.
