//! From settings to the options of the crates below. A limit that is added there has to be named here to compile.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use factum_outbound::Policy;
use factum_runtime::ShellLimits;
use factum_store::Background;
use secrecy::SecretString;

use super::issuers::{Issuer, Keys};
use super::settings::Settings;
use super::words::ClientContexts;
use crate::server::{self, A2aOptions, CardKey, IssuerKeys, IssuerOptions, TransportLimits};

impl Settings {
    pub(crate) fn transport_limits(&self) -> TransportLimits {
        let limits = &self.limits;
        TransportLimits {
            body_bytes_max: limits.body_bytes_max,
            json_depth_max: limits.json_depth_max,
            requests_per_second: limits.requests_per_second,
            requests_burst: limits.requests_burst,
            publishes_per_second: limits.publishes_per_second,
            history_pages_per_second: limits.history_pages_per_second,
            connections_max: limits.connections_max,
            request_timeout: Duration::from_millis(limits.request_timeout_ms),
            header_timeout: Duration::from_millis(limits.header_timeout_ms),
            streams_max: limits.streams_max,
            batch_max: limits.batch_max,
            ws_message_bytes_max: limits.ws_message_bytes_max,
            in_flight_max: limits.in_flight_max,
            drain_timeout: Duration::from_millis(limits.drain_timeout_ms),
        }
    }

    pub(crate) fn engine_limits(&self) -> factum_engine::Limits {
        let limits = &self.limits;
        factum_engine::Limits {
            queue_turns_max: limits.queue_turns_max,
            threads_max: limits.threads_max,
            open_actions_max: limits.open_actions_max,
            input_parts_max: limits.input_parts_max,
            metadata_bytes_max: limits.metadata_bytes_max,
            title_chars_max: limits.title_chars_max,
            idempotency_key_chars_max: limits.idempotency_key_chars_max,
            tool_calls_max: limits.tool_calls_max,
            model_rounds_max: limits.model_rounds_max,
            open_tasks_max: limits.open_tasks_max,
            task_objective_chars_max: limits.task_objective_chars_max,
            task_name_chars_max: limits.task_name_chars_max,
            task_text_chars_max: limits.task_text_chars_max,
            task_refs_max: limits.task_refs_max,
            task_ref_bytes_max: limits.task_ref_bytes_max,
            task_acceptance_bytes_max: limits.task_acceptance_bytes_max,
            task_artifact_bytes_max: limits.task_artifact_bytes_max,
            task_edges_max: limits.task_edges_max,
            task_depth_max: limits.task_depth_max,
            task_attempts_max: limits.task_attempts_max,
            task_cancel_grace_ms: limits.task_cancel_grace_ms,
            report_facts_max: limits.report_facts_max,
            subagents_open_max: limits.subagents_open_max,
            subagent_depth_max: limits.subagent_depth_max,
            subagent_grace_ms_max: limits.subagent_grace_ms_max,
            channel_name_chars_max: limits.channel_name_chars_max,
            channel_members_max: limits.channel_members_max,
            message_parts_max: limits.message_parts_max,
            message_refs_max: limits.message_refs_max,
            message_bytes_max: limits.message_bytes_max,
            push_configs_max: limits.push_configs_max,
            capabilities_max: limits.capabilities_max,
            worker_queues_max: limits.worker_queues_max,
            channel_sessions_max: limits.channel_sessions_max,
            channel_permissions_max: limits.channel_permissions_max,
            channel_heartbeat_ms: limits.channel_heartbeat_ms,
            replay_events_max: limits.replay_events_max,
            jobs_open_max: limits.jobs_open_max,
            job_items_max: limits.job_items_max,
            job_input_bytes_max: limits.job_input_bytes_max,
            job_instruction_bytes_max: limits.job_instruction_bytes_max,
            job_concurrency_max: limits.job_concurrency_max,
            job_item_attempts_max: limits.job_item_attempts_max,
            job_settle_ms: limits.job_settle_ms,
            schedules_max: limits.schedules_max,
            schedule_bytes_max: limits.schedule_bytes_max,
            schedule_interval_ms_min: limits.schedule_interval_ms_min,
            schedule_late_ms: limits.schedule_late_ms,
            schedule_catch_up_max: limits.schedule_catch_up_max,
        }
    }

    pub(crate) fn shell_limits(&self) -> ShellLimits {
        let limits = &self.limits;
        ShellLimits {
            session_idle: Duration::from_millis(limits.session_idle_ms),
            sessions_at_rest_max: limits.sessions_at_rest_max,
            sweep_interval: Duration::from_millis(limits.sweep_interval_ms),
            snapshot_events: limits.snapshot_events,
            channel_snapshot_events: limits.channel_snapshot_events,
            page_events_max: limits.page_events_max,
            window_steps_max: limits.window_steps_max,
            subagent_wait_max: Duration::from_millis(limits.subagent_wait_ms_max),
            recover_parallel: limits.recover_parallel,
            claim_runs_max: limits.claim_runs_max,
            claim_wait_max: Duration::from_millis(limits.claim_wait_max_ms),
            waiting_workers_max: limits.waiting_workers_max,
            lease_min: Duration::from_millis(limits.lease_min_ms),
            lease_max: Duration::from_millis(limits.lease_max_ms),
        }
    }

    pub(crate) fn outbound_options(&self) -> factum_outbound::Options {
        let outbound = &self.outbound;
        factum_outbound::Options {
            allow: outbound.allow.clone(),
            connect_timeout: Duration::from_millis(outbound.connect_timeout_ms),
            timeout: Duration::from_millis(outbound.timeout_ms),
            idle_timeout: Duration::from_millis(outbound.idle_timeout_ms),
            body_bytes_max: outbound.body_bytes_max,
            event_bytes_max: outbound.event_bytes_max,
        }
    }

    pub(crate) fn store_options(&self) -> factum_store::Options {
        let store = &self.store;
        factum_store::Options {
            first_segment_bytes: store.first_segment_bytes,
            segment_bytes_max: store.segment_bytes_max,
            checkpoint_bytes: store.checkpoint_bytes,
            overlay_bytes_max: store.overlay_bytes_max,
            batch_bytes_max: store.batch_bytes_max,
            queue_commits_max: store.queue_commits_max,
            queue_bytes_max: store.queue_bytes_max,
            index_map_bytes: store.index_map_bytes,
            background: Background::Threads,
        }
    }

    /// What is said about A2A, with the key that signs the cards and the networks that may be reached.
    pub(crate) fn a2a_options(&self, card_key: CardKey, outbound: &factum_outbound::Options) -> A2aOptions {
        A2aOptions {
            extended_card: self.a2a.extended_card,
            push_notifications: self.a2a.push_notifications,
            push_policy: Arc::new(Policy::new(outbound.allow.clone())),
            required_extensions: self.a2a.required_extensions.clone(),
            client_contexts: match self.a2a.client_contexts {
                ClientContexts::Accept => server::ClientContexts::Accept,
                ClientContexts::Refuse => server::ClientContexts::Refuse,
            },
            card_key: Some(card_key),
        }
    }

    /// The issuers, with the secrets of those that share one read from their files.
    pub(crate) fn issuer_options(&self) -> Result<Vec<IssuerOptions>> {
        self.auth.issuers.iter().map(issuer_options).collect()
    }
}

fn issuer_options(issuer: &Issuer) -> Result<IssuerOptions> {
    let keys = match &issuer.keys {
        Keys::JwksUrl(url) => IssuerKeys::JwksUrl(url.clone()),
        Keys::JwksFile(path) => IssuerKeys::JwksFile(path.clone()),
        Keys::PemFile(path) => IssuerKeys::PemFile(path.clone()),
        Keys::SecretFile(path) => {
            let secret = std::fs::read_to_string(path).with_context(|| {
                format!("the secret of issuer {:?} cannot be read from {}", issuer.issuer, path.display())
            })?;
            IssuerKeys::Secret(SecretString::from(secret.trim_end().to_owned()))
        }
    };
    let usual = IssuerOptions::new(&issuer.issuer, &issuer.audience, keys);
    Ok(IssuerOptions {
        algorithms: issuer.algorithms.clone(),
        account_claim: issuer.account_claim.clone().unwrap_or(usual.account_claim),
        principal_claim: issuer.principal_claim.clone().unwrap_or(usual.principal_claim),
        scopes_claim: issuer.scopes_claim.clone().unwrap_or(usual.scopes_claim),
        leeway_seconds: issuer.leeway_seconds.unwrap_or(usual.leeway_seconds),
        ..usual
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_crates_below() {
        let settings = Settings::default();
        assert_eq!(settings.engine_limits(), factum_engine::Limits::default());
        assert_eq!(settings.outbound_options(), factum_outbound::Options::default());
        let same = |ours: String, theirs: String| assert_eq!(ours, theirs);
        same(format!("{:?}", settings.shell_limits()), format!("{:?}", ShellLimits::default()));
        same(format!("{:?}", settings.store_options()), format!("{:?}", factum_store::Options::default()));
        same(format!("{:?}", settings.transport_limits()), format!("{:?}", TransportLimits::default()));
    }
}
