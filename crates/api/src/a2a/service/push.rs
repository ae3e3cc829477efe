//! Push configurations: set, read back without their secrets, deleted. Sending is not here.

use a2a::{
    A2AError, AuthenticationInfo, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse, TaskPushNotificationConfig,
};
use factum_a2a::{SENT_PUSH_CONFIG, invalid_field};
use factum_outbound::{Policy, Target};
use factum_runtime::{PushConfig, PushTarget};
use secrecy::SecretString;

use super::fault::refused;
use super::{PROTOCOL, Service};

impl Service {
    pub(super) async fn set_config(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        check("url", &config, &self.push_policy)?;
        let task_id = config.task_id.clone();
        let row = self.find(&task_id).await?;
        let set = self.runtime.set_push_target(&self.caller, PROTOCOL, &row, target(config)).await;
        set.map(|config| shown(&task_id, config)).map_err(|refusal| refused(&refusal, &task_id))
    }

    /// The same for a task that may not be there yet: whoever chooses the ids of its tasks may say this first (seed 004).
    pub(super) async fn set_config_ahead(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        check("url", &config, &self.push_policy)?;
        let task_id = config.task_id.clone();
        let wanted = target(config.clone());
        let place = (task_id.as_str(), &*self.agent);
        let set = self.runtime.set_push_target_ahead(&self.caller, PROTOCOL, place, &wanted).await;
        match set.map_err(|refusal| refused(&refusal, &task_id))? {
            Some(set) => Ok(shown(&task_id, set)),
            None => self.set_config(config).await,
        }
    }

    /// Whether the configuration that a message brings along could be delivered to. Its bounds are looked at where it is set.
    pub(super) fn check_sent_config(&self, config: &TaskPushNotificationConfig) -> Result<(), A2AError> {
        check(&format!("{SENT_PUSH_CONFIG}.url"), config, &self.push_policy)
    }

    pub(super) async fn get_config(
        &self,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        let configs = self.configs(&request.task_id).await?;
        let found = configs.into_iter().find(|config| config.config_id == request.id);
        // A configuration has no error of its own: what is not there is not found, like its task.
        found.map(|config| shown(&request.task_id, config)).ok_or_else(|| A2AError::task_not_found(&request.task_id))
    }

    /// A page, in the order of their ids; all of them where no size is asked for, since `push_configs_max` bounds them. A
    /// page's token is the last id on the page before it, so what comes and goes meanwhile moves nothing.
    pub(super) async fn list_configs(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, A2AError> {
        let mut configs = self.configs(&request.task_id).await?;
        if let Some(last) = &request.page_token {
            configs.retain(|config| config.config_id > *last);
        }
        let size = request.page_size.map_or(usize::MAX, |size| usize::try_from(size).unwrap_or_default());
        let more = configs.len() > size;
        configs.truncate(size);
        let last = configs.last().map(|config| config.config_id.clone());
        let configs = configs.into_iter().map(|config| shown(&request.task_id, config)).collect();
        Ok(ListTaskPushNotificationConfigsResponse { configs, next_page_token: last.filter(|_| more) })
    }

    pub(super) async fn delete_config(&self, request: DeleteTaskPushNotificationConfigRequest) -> Result<(), A2AError> {
        let row = self.find(&request.task_id).await?;
        let deleted = self.runtime.delete_push_target(&self.caller, &row, &request.id).await;
        deleted.map_err(|refusal| refused(&refusal, &request.task_id))
    }

    async fn configs(&self, task_id: &str) -> Result<Vec<PushConfig>, A2AError> {
        let not_read = |refusal| refused(&refusal, task_id);
        match self.find(task_id).await {
            Ok(row) => self.runtime.push_targets(&self.caller, &row).await.map_err(not_read),
            Err(missing) => {
                let place = (task_id, &*self.agent);
                let ahead = self.runtime.push_target_ahead(&self.caller, PROTOCOL, place).await.map_err(not_read)?;
                ahead.map(|ahead| vec![ahead.config]).ok_or(missing)
            }
        }
    }
}

/// Where a configuration wants changes to be pushed to.
pub(super) fn target(config: TaskPushNotificationConfig) -> PushTarget {
    let (scheme, credentials) = match config.authentication {
        Some(authentication) => (Some(authentication.scheme), authentication.credentials),
        None => (None, None),
    };
    PushTarget {
        config_id: config.id,
        url: config.url,
        scheme: scheme.filter(|scheme| !scheme.is_empty()),
        token: config.token.map(SecretString::from),
        credentials: credentials.map(SecretString::from),
    }
}

/// What is read back: everything but the secrets.
fn shown(task_id: &str, config: PushConfig) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: config.url,
        id: Some(config.config_id),
        task_id: task_id.to_owned(),
        token: None,
        authentication: config.scheme.map(|scheme| AuthenticationInfo { scheme, credentials: None }),
        tenant: None,
    }
}

/// Refuses a configuration that could never be delivered to. Nothing is looked up: where a name leads is judged when a
/// notification is sent, and may be another place by then.
fn check(field: &str, config: &TaskPushNotificationConfig, policy: &Policy) -> Result<(), A2AError> {
    let target = Target::parse(&config.url, policy).map_err(|error| invalid_field(field, error.to_string()))?;
    let is_secret = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let credentials = config.authentication.as_ref().is_some_and(|wanted| is_secret(&wanted.credentials));
    if (credentials || is_secret(&config.token)) && !target.keeps_secrets(policy) {
        return Err(invalid_field(field, "a token or credentials are not sent in the clear; give an https address"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
