"""Pipeline flavours adapted to the settings, and the subscriptions of their stages."""

from __future__ import annotations

from fonds.config import PORTS, Settings
from fonds.model.errors import ConfigurationError
from fonds.model.message import Subscription
from fonds.model.step import Pipeline
from fonds.model.suggestions import format_unknown_name
from fonds.pipelines.flavours.papers import add_papers
from fonds.pipelines.flavours.registry import PIPELINES
from fonds.pipelines.runtime.binding import build_subscriptions
from fonds.wiring.backends import find_backend


def list_concurrent_stages(settings: Settings) -> list[str]:
    """List the pipeline stages that several processes of this machine may run at the same time.

    Stages that work on many messages at once are left out. Stages that write to the full-text index
    are left out unless several processes may use the index. The list is empty if only one process
    may use a configured store.
    """
    if any(find_backend(port, getattr(settings, port)).is_exclusive for port in PORTS):
        return []
    several = find_backend("index", settings.index).is_shared
    stages = get_configured_pipeline(settings).stages
    return [
        stage.name for stage in stages if (several or not stage.indexes) and not stage.is_concurrent
    ]


def build_topic_prefix(settings: Settings) -> str:
    """Return the prefix of all topic names in the queue: `{topic_group}-{env}` of the settings."""
    return f"{settings.topic_group or settings.group}-{settings.env}"


def get_configured_pipeline(settings: Settings) -> Pipeline:
    """Return the configured pipeline. Raises ConfigurationError if its name is unknown."""
    return get_pipeline(settings.pipeline, settings)


def get_pipeline(name: str, settings: Settings) -> Pipeline:
    """Return the pipeline flavour with this name, adapted to the settings for papers and
    thumbnails.

    Raises ConfigurationError if the name is unknown.
    """
    if name not in PIPELINES:
        raise ConfigurationError(format_unknown_name("pipeline", name, PIPELINES))
    concurrent_requests = settings.grobid.at_once if settings.grobid.url else 0
    return add_papers(
        PIPELINES[name](list_extra_thumbnails(settings)), concurrent_requests, match=settings.match
    )


def list_extra_thumbnails(settings: Settings) -> tuple[str, ...]:
    """Return the configured thumbnail formats, without the default one."""
    return tuple(word.strip() for word in settings.pdf.more_thumbnails.split(",") if word.strip())


def list_readers(settings: Settings, pipeline: str = "") -> list[Subscription]:
    """Return the subscriptions of a pipeline in stage order. The default is the configured
    pipeline.
    """
    pipeline_flavour = get_pipeline(pipeline or settings.pipeline, settings)
    return build_subscriptions(pipeline_flavour, build_topic_prefix(settings))
