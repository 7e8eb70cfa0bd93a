//! The form in which each API writes an error, for answers whose source has only code and message.

use quick_xml::escape::escape;
use serde_json::json;

use crate::answer::{Answer, Service};

impl Answer {
    /// The body, as published or as the API would write it.
    pub fn body(&self) -> String {
        if let Some(body) = &self.body {
            return body.clone();
        }
        let (code, message) = (&self.code, &self.message);
        let xml = || {
            format!("<Code>{}</Code><Message>{}</Message>", escape(code.as_str()), escape(message.as_str()))
        };
        match self.service {
            Service::Ec2 => format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>{}</Error></Errors>\
                 <RequestID>00000000-0000-4000-8000-000000000000</RequestID></Response>",
                xml()
            ),
            Service::Iam | Service::Sts | Service::AutoScaling | Service::Route53 => format!(
                "<?xml version=\"1.0\"?>\n<ErrorResponse><Error><Type>Sender</Type>{}</Error>\
                 <RequestId>00000000-0000-4000-8000-000000000000</RequestId></ErrorResponse>",
                xml()
            ),
            Service::Ecr | Service::Ssm | Service::Resolver => {
                json!({"__type": code, "message": message}).to_string()
            }
            Service::Compute | Service::Dns => {
                let first = json!({"message": message, "domain": self.domain(), "reason": code});
                json!({"error": {"code": self.status, "message": message, "errors": [first]}}).to_string()
            }
            Service::Operation => json!({
                "kind": "compute#operation", "id": "1", "name": "operation-1", "status": "DONE", "progress": 100,
                "httpErrorStatusCode": self.status, "httpErrorMessage": "",
                "error": {"errors": [{"code": code, "message": message}]},
            })
            .to_string(),
            Service::Artifacts | Service::Secrets | Service::Accounts | Service::Perimeters => {
                json!({"error": {"code": self.status, "message": message, "status": code}}).to_string()
            }
            Service::RunPod => json!({"title": code, "status": self.status, "detail": message}).to_string(),
        }
    }

    /// The status of the HTTP answer: an operation that failed is itself answered well.
    pub fn http_status(&self) -> u16 {
        if self.service == Service::Operation { 200 } else { self.status }
    }

    /// The type of the body.
    pub fn content_type(&self) -> &'static str {
        match self.service {
            Service::Ec2 | Service::Iam | Service::Sts | Service::AutoScaling | Service::Route53 => {
                "text/xml;charset=UTF-8"
            }
            Service::Ecr | Service::Ssm | Service::Resolver => "application/x-amz-json-1.1",
            Service::RunPod => "application/problem+json",
            _ => "application/json; charset=UTF-8",
        }
    }

    /// Google's domain of a reason.
    fn domain(&self) -> &'static str {
        if self.code.to_lowercase().contains("limit") || self.code == "quotaExceeded" {
            "usageLimits"
        } else {
            "global"
        }
    }
}
