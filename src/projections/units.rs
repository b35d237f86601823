//! The units. A new one is a file in `units/` and a line here.

use super::registry::Registry;
use super::unit::Definition;

/// Declares each unit's module and registers its type.
macro_rules! units {
    ($($module:ident :: $unit:ident),* $(,)?) => {
        $(mod $module;)*

        const DEFINITIONS: &[Definition] = &[$(Definition::of::<$module::$unit>()),*];
    };
}

units! {
    title::Title,
    token_usage::TokenUsage,
    context_pressure::ContextPressure,
    context_breakdown::ContextBreakdown,
    session_stats::SessionStats,
    session_list_metadata::SessionListMetadata,
    todos::Todos,
    goal::Goal,
    plan::Plan,
    subagent::Subagent,
    subagent_catalog::SubagentCatalog,
    inbox::Inbox,
    user_questions::UserQuestions,
    agent_preset::AgentPreset,
    subagent_timing::SubagentTiming,
    turn_outline::TurnOutline,
    model_selection::ModelSelection,
    working_directory::WorkingDirectory,
    permissions::Permissions,
}

/// All units.
pub fn all() -> Registry {
    Registry::of(DEFINITIONS.iter().copied()).expect("no two units have one key")
}
