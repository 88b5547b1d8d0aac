"""The parameters of queries that follow a reader and never choose a page, as data.

A name is here only if it was coined for tracking: what may also be the number of an article (`pk_no`, `sid`,
`ref`, `ncid`, `smid`, `icid`, `cmp`) is not, because two ids for one page do less harm than one for two.
Source: what the systems that add them say of them (Google Analytics and Ads, Meta, Microsoft, Matomo,
HubSpot, Mailchimp, Marketo, Yandex, AT Internet, Adobe, Olytics, Vero, Twitter, TikTok, LinkedIn, Alibaba).
"""

from __future__ import annotations

PREFIXES = ("utm_", "hsa_")
"""Whole families: nothing else begins like this on 3,261 real addresses, or is known to."""

_ANALYTICS = """
    _ga _gl ga_source ga_medium ga_campaign ga_term ga_content ga_place gclid gclsrc gad_source
    gad_campaignid dclid gbraid wbraid srsltid msclkid yclid ysclid _openstat
    mtm_campaign mtm_keyword mtm_kwd mtm_source mtm_medium mtm_content mtm_cid mtm_group mtm_placement
    pk_campaign pk_keyword pk_kwd pk_source pk_medium pk_content pk_cid piwik_campaign piwik_kwd
    at_medium at_campaign at_custom1 at_custom2 at_custom3 at_custom4 xtor s_cid ns_mchannel ns_source
    ns_campaign ns_linkname ns_fee
"""
_SOCIAL = """
    fbclid fb_action_ids fb_action_types fb_source fb_ref action_object_map action_type_map action_ref_map
    igshid igsh twclid ttclid li_fat_id __twitter_impression guccounter guce_referrer guce_referrer_sig
    echobox custom_click wprss feedname feedtype amp_js_v spm
"""
_MAIL = """
    mc_cid mc_eid mc_tc mkt_tok oly_anon_id oly_enc_id vero_id vero_conv wickedid _hsenc _hsmi __hstc
    __hssc __hsfp hsctatracking ck_subscriber_id ml_subscriber ml_subscriber_hash
"""
_SESSIONS = "phpsessid jsessionid"
NAMES = frozenset(f"{_ANALYTICS} {_SOCIAL} {_MAIL} {_SESSIONS}".split())
"""In lower case."""


def is_tracking(name: str) -> bool:
    """Whether a parameter only follows the reader; `name` without percent-encoding, in any case."""
    lowered = name.lower()
    return lowered in NAMES or lowered.startswith(PREFIXES)
